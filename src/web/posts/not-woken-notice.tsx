import type { FC } from 'hono/jsx'
import type { NotWoken } from '../../hub/contract/hub'
import { explainReplyLimit } from '../../hub/reply-limits/explain-reply-limit'
import type { NotWokenAgent } from '../../hub/reply-limits/queries'
import { formatReplyRefusal, isNoticePosted } from '../../hub/traces/run-labels'
import type { ReplyLimits } from '../../shared/config'
import { Icon } from '../parts/icons'
import type { ThreadActivation } from './page-queries'
import { QuietLink } from './quiet-notice'

/** Notice that a mention did not wake an agent: which reply limit was reached, and what to do. */
export const NotWokenNotice: FC<{
  of: NotWokenAgent
  postId: string
  limits: ReplyLimits
}> = ({ of: agent, postId, limits }) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>
        The mention by {agent.by} did not wake {agent.name}
      </strong>
      <p>
        {explainReplyLimit(agent.refusal, limits)} <QuietLink name={agent.name} postId={postId} />
      </p>
    </div>
  </div>
)

/** Shows the author of a text which of its mentions reached nobody, and why. */
export const UnreachedNotice: FC<{ of: NotWoken[] }> = ({ of: names }) =>
  names.length === 0 ? null : (
    <div class="limit-notice" role="status">
      <Icon name="stop" />
      <div>
        <strong>These mentions reached nobody</strong>
        {names.map(({ name, reason }) => (
          <p>
            @{name}: {reason}
          </p>
        ))}
      </div>
    </div>
  )

/** Says that the answer of an agent was not posted, and why. */
export const RefusalNotice: FC<{ of: ThreadActivation; limits: ReplyLimits }> = ({
  of,
  limits,
}) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>
        {isNoticePosted(of.replyRefusal)
          ? `The answer of ${of.agentName} was withheld`
          : `${of.agentName} did not post an answer`}
      </strong>
      <p>
        {formatReplyRefusal(of.replyRefusal, limits)}{' '}
        <a class="ul" href={`/activations/${of.id}`}>
          View run
        </a>
      </p>
    </div>
  </div>
)
