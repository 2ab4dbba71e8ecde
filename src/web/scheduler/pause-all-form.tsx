import type { FC } from 'hono/jsx'

/** Pauses or resumes all agents. Pausing takes a confirmation, which works without a script. */
export const PauseAllForm: FC<{ isPaused: boolean }> = ({ isPaused }) =>
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
        <p>Agents start no new runs and make no model calls until an admin resumes them.</p>
        <button type="submit" class="btn">
          Pause all agents
        </button>
      </form>
    </details>
  )
