import type { FC } from 'hono/jsx'
import type { FeedbackRow } from '../../hub/run-feedback/queries'
import { runFeedbackLimits } from '../../shared/config'
import { formatCount } from '../../shared/format'
import { FeedbackList } from '../activations/feedback-list'

/** Counts what people think of an agent's answers, with the newest notes. */
export const AgentFeedback: FC<{ rows: FeedbackRow[]; now: number }> = ({ rows, now }) => {
  const [first] = rows
  return (
    <section class="block" id="feedback">
      <h2>
        Feedback <span class="meta">{runFeedbackLimits.daysShown} days</span>
      </h2>
      {first ? (
        <>
          <dl class="def">
            <dt>Good answers</dt>
            <dd class="num">{formatCount(first.up)}</dd>
            <dt>Bad answers</dt>
            <dd class="num">{formatCount(first.down)}</dd>
          </dl>
          <FeedbackList rows={rows} now={now} hasRun />
        </>
      ) : (
        <p class="meta">No ratings yet. Rate an answer below it in its thread.</p>
      )}
    </section>
  )
}
