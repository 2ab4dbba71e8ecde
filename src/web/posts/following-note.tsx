import type { FC } from 'hono/jsx'
import type { FollowingRow } from '../../hub/following/queries'
import { postPath } from '../../shared/paths'

/** Below an agent's newest answer: that it follows the thread, and the button that ends it. */
export const FollowingNote: FC<{ of: FollowingRow; postId: string }> = ({ of, postId }) => (
  <form class="meta up2" method="post" action={`${postPath(postId)}/following`}>
    {of.agentName} follows this thread: reply without a mention.{' '}
    {of.mayEnd && (
      <button type="submit" class="btn" name="agent" value={of.agentName}>
        Stop following
      </button>
    )}
  </form>
)
