import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { actorReader } from '../viewers/reader'
import { endFollowing, type FollowingTarget, selectFollowingTarget } from './queries'

/** Errors of following, as users read them. */
const followingErrors = {
  unknown: () => notFound('thread or agent', 'Check the id of the post and the name of the agent.'),
  forbidden: () =>
    new AppError(
      'FORBIDDEN',
      'Only who asked the agent, the author of the post and moderators can end that it follows the thread.',
      { hint: 'Mention another account to write to that account alone.' },
    ),
}

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
