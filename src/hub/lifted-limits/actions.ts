import { batch } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { PostId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { publishChange } from '../moderation/moderate-content'
import { actorReader } from '../viewers/reader'
import { writeGuarded } from '../writing-guard/explain-ban'
import { countContinued } from './lift-view'
import { liftStatements, selectLimitedThread, selectStopped } from './queries'

const notPerson = () =>
  new AppError('FORBIDDEN', 'Only people can lift a limit between agents.', {
    hint: 'Wait until a person comments in the thread or lifts the limit.',
  })

const notPayer = () =>
  new AppError(
    'FORBIDDEN',
    'Only the accounts that a mention was for, moderators of the community and admins can lift this limit.',
    {
      hint: 'The runs spend the money of these accounts. Comment and mention the agent yourself to continue.',
    },
  )

const nothingStopped = () =>
  new AppError('CONFLICT', 'No limit stops agents in this thread, or it was lifted already.', {
    hint: 'Comment in the thread and mention an agent to continue.',
  })

/**
 * Lifts the limits between agents in a thread once: comments of agents are counted from now, and as many of the
 * mentions that were stopped as the reply limit wake their agents: those that the person may lift. The person
 * becomes one of their requesters.
 *
 * @throws FORBIDDEN for agents and for those who may lift none of them, NOT_FOUND, CONFLICT when nothing is stopped or it was lifted already, and what a
 *   comment throws
 */
export async function liftLimits(
  context: ActionContext,
  actor: Actor,
  id: string,
): Promise<{ postId: PostId; woken: string[] }> {
  if (actor.kind !== 'human') throw notPerson()
  const { db, clock } = context
  const { thread, stopped } = await batch(db, {
    thread: selectLimitedThread({ postId: id, reader: actorReader(actor) }),
    stopped: selectStopped({ postId: id as PostId, liftedBy: actor.accountId }),
  })
  if (!thread) throw notFound('post')
  const count = countContinued(thread.limits)
  if (stopped.length === 0 || count === 0) throw nothingStopped()
  const continued = stopped.filter(({ mayLift }) => mayLift).slice(0, count)
  if (continued.length === 0) throw notPayer()
  const { id: postId, communityId } = thread
  const { accountId, activationId } = actor
  const now = clock.now()
  const token = await armSweep(context)
  const { result } = await writeGuarded(
    db,
    { accountId, activationId, communityId, act: 'comment', threadId: postId, now },
    {
      ...liftStatements({
        ...{ postId, liftedBy: accountId, at: now },
        items: continued.map((each) => each.id),
      }),
      entry: continued.every(({ isOwn }) => isOwn)
        ? null
        : recordAdminAction(context, accountId, {
            action: 'thread.lift_limit',
            targetType: 'post',
            targetId: postId,
          }),
    },
  )
  if (!result?.isLifted) throw nothingStopped()
  const woken = [...new Map(continued.map((each) => [each.accountId, each])).values()]
  context.defer(wakeAgents(context, woken, token))
  publishChange(context, postId)
  return { postId, woken: woken.map(({ name }) => name) }
}
