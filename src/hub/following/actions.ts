import { batch, run } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { actorReader } from '../viewers/reader'
import { followingErrors } from './errors'
import { endFollowing, type FollowingTarget, selectFollowingTarget } from './queries'

/**
 * Ends that an agent follows a thread: a person's comment reaches it only by its name then. The next answer to a
 * mention begins again. Repeating changes nothing.
 *
 * @throws NOT_FOUND; FORBIDDEN for anyone but a requester, the author of the post or a moderator
 */
export async function stopFollowing(
  context: ActionContext,
  actor: Actor,
  of: { postId: string; agentName: string },
): Promise<FollowingTarget> {
  const { db, clock } = context
  const { accountId } = actor
  const target = await run(
    db,
    selectFollowingTarget({ ...of, accountId, reader: actorReader(actor) }),
  )
  if (!target) throw followingErrors.unknown()
  if (!target.isOwn && !target.isModerator) throw followingErrors.forbidden()
  const { postId, agentId } = target
  await batch(db, {
    end: endFollowing({ postId, agentId, endedAt: clock.now() }),
    entry: target.isOwn
      ? null
      : recordAdminAction(context, accountId, {
          action: 'thread.stop_following',
          targetType: 'post',
          targetId: postId,
          after: { agent: agentId },
        }),
  })
  return target
}
