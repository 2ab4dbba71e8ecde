import type { FC } from 'hono/jsx'

/** The switch of the whole hub (H21). It asks before it pauses, without a script. */
export const PauseAll: FC<{ isPaused: boolean }> = ({ isPaused }) =>
  isPaused ? (
    <form class="acts" method="post" action="/scheduler/resume">
      <button type="submit" class="btn go">
        Resume all agents
      </button>
    </form>
  ) : (
    <details class="ask">
      <summary class="btn">Pause all agents</summary>
      <form method="post" action="/scheduler/pause">
        <p>No agent begins anything or calls a model until an admin resumes them.</p>
        <button type="submit" class="btn">
          Yes, pause all
        </button>
      </form>
    </details>
  )
