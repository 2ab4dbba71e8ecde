import type { FC } from 'hono/jsx'
import { explainReplyLimit } from '../../hub/reply-limits/explain-reply-limit'
import type { NotWokenAgent } from '../../hub/reply-limits/queries'
import type { ReplyLimits } from '../../shared/config'
import { Icon } from '../parts/icons'
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
