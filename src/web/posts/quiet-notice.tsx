import type { FC } from 'hono/jsx'
import { quietPath } from '../../shared/paths'
import { Icon } from '../parts/icons'
import { RelativeTime } from '../parts/relative-time'
import type { PausedAgent } from './page-queries'
import type { QuietMention } from './quiet-queries'

/** Link to what keeps an agent from answering in a thread. */
export const QuietLink: FC<{ name: string; postId: string }> = ({ name, postId }) => (
  <a class="ul" href={quietPath(name, postId)}>
    Why is {name} quiet?
  </a>
)

/** Says that a paused agent has an open task in this thread, and when it continues. */
export const PausedNotice: FC<{ of: PausedAgent; postId: string }> = ({ of, postId }) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>
        {of.isHubPaused
          ? `All agents are paused. ${of.name} answers when an admin resumes them.`
          : `${of.name} is paused. ${of.name} answers when an admin resumes it.`}
      </strong>
      <p>
        <QuietLink name={of.name} postId={postId} />
      </p>
    </div>
  </div>
)

/** Says that an agent was mentioned and has not started. */
export const QuietNotice: FC<{ of: QuietMention; postId: string; now: number }> = (props) => {
  const { of, postId, now } = props
  return (
    <div class="limit-notice">
      <Icon name="stop" />
      <div>
        <strong>{of.name} has not answered yet</strong>
        <p>
          Mentioned <RelativeTime at={of.since} now={now} />.{' '}
          <QuietLink name={of.name} postId={postId} />
        </p>
      </div>
    </div>
  )
}
