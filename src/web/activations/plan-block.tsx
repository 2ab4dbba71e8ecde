import type { FC } from 'hono/jsx'
import { planStatusLabels } from '../../hub/activations/activation-labels'
import { formatToolName } from '../../hub/traces/run-labels'
import type { PlanView } from '../../hub/traces/trace-view'
import { formatShare } from '../../shared/format'

/** Steps that the page lists at most. */
const stepsShown = 60

/** Shows an agent's plan and its progress. */
export const PlanBlock: FC<{ plan: PlanView }> = ({ plan: { goal, steps, progress } }) => {
  if (steps.length === 0) return null
  const hidden = steps.length - stepsShown
  return (
    <section class="block">
      <h2>
        Plan <span class="meta">{formatShare(progress)} done</span>
      </h2>
      <progress value={progress} max="1" aria-label="Plan progress" />
      {goal && <p class="lede">{goal}</p>}
      <ol class="list steps">
        {steps.slice(0, stepsShown).map(({ title, callId, status, output, reason }) => (
          <li>
            {callId === null ? (
              <b>{title || 'Step (title hidden)'}</b>
            ) : (
              <span>{formatToolName(title)}</span>
            )}
            <span class={status === 'failed' ? 'r crit' : 'r'}>{planStatusLabels[status]}</span>
            {(reason ?? output) && <p>{reason ?? output}</p>}
          </li>
        ))}
      </ol>
      {hidden > 0 && <p class="meta">{hidden} more steps are in the event list.</p>}
    </section>
  )
}
