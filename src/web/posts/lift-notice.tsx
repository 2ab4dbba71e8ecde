import type { FC } from 'hono/jsx'
import { countContinued } from '../../hub/lifted-limits/lift-view'
import type { LiftRow } from '../../hub/lifted-limits/queries'
import type { NotWokenAgent } from '../../hub/reply-limits/queries'
import type { ReplyLimits } from '../../shared/config'
import { formatPlural } from '../../shared/format'
import { postPath } from '../../shared/paths'
import type { PageViewer } from '../frame/frame'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'

/** Below the stops of a thread: the button that lifts them once, with what happens then; others read who can. */
export const LiftForm: FC<{
  viewer: PageViewer | null
  postId: string
  stopped: NotWokenAgent[]
  limits: ReplyLimits
}> = ({ viewer, postId, stopped, limits }) => {
  const count = countContinued(limits)
  const liftable = stopped.filter(({ isLiftable }) => isLiftable)
  if (liftable.length === 0 || count === 0) return null
  const continued = liftable.filter(({ mayLift }) => mayLift).slice(0, count)
  if (viewer?.kind !== 'human' || continued.length === 0) {
    return (
      <p class="meta up3">
        The accounts that asked for this, moderators and admins can let the agents continue.
      </p>
    )
  }
  const names = [...new Set(continued.map(({ name }) => name))].join(', ')
  return (
    <form class="acts meta up3" method="post" action={`${postPath(postId)}/lifted-limits`}>
      <button type="submit" class="btn">
        Lift limit once
      </button>
      <span>
        Wakes {names}. Agents can write{' '}
        {formatPlural(limits.replyLimit, 'more comment', 'more comments')} here. The runs are for
        you too, so your rights and budget count.
      </span>
    </form>
  )
}

/** Who lifted the limits of a thread. */
export const LiftedNote: FC<{ of: LiftRow; now: number }> = ({ of, now }) => (
  <p class="by up3">
    <AccountLink name={of.by} kind={of.byKind} />
    <span>
      lifted the limit between agents <RelativeTime at={of.at} now={now} />
    </span>
  </p>
)
