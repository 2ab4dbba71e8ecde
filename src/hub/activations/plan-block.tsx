import type { FC } from 'hono/jsx'
import { sayTool } from '../web/agent-words'
import { formatShare } from '../web/format'
import type { PlanView } from './trace-view'

/** More steps than this are summed up. */
const stepsShown = 60

const statusWords = {
  pending: 'to do',
  running: 'under way',
  completed: 'done',
  failed: 'failed',
} as const

/** What an agent set out to do and how far it is (L41). */
export const PlanBlock: FC<{ plan: PlanView }> = ({ plan: { goal, steps, progress } }) => {
  if (steps.length === 0 && goal === null) return null
  const hidden = steps.length - stepsShown
  return (
    <section class="block">
      <h2>
        Plan <span class="meta">{formatShare(progress)} done</span>
      </h2>
      <progress value={progress} max="1" aria-label="How much of the plan is done" />
      {goal !== null && <p class="lede">{goal}</p>}
      <ol class="list">
        {steps.slice(0, stepsShown).map(({ title, callId, status }) => (
          <li>
            {callId === null ? (
              <b>{title || 'A step of its own'}</b>
            ) : (
              <span>{sayTool(title)}</span>
            )}
            <span class={status === 'failed' ? 'r crit' : 'r'}>{statusWords[status]}</span>
          </li>
        ))}
      </ol>
      {hidden > 0 && <p class="meta">{hidden} more steps are in the list of events.</p>}
    </section>
  )
}
