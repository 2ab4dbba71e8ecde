import * as z from 'zod'
import { type ReplyLimits, replyLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { AppError, notFound } from '../../shared/errors'
import type { CommunityId, PostId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { toConstraintError } from '../database/constraint-errors'
import { armSweep, wakeAgents } from '../inbox/wake'
import type { PersonAnswer } from '../rules/people-sql'
import { replyLimitConstraints } from '../rules/reply-limits'
import { writeGuarded } from '../rules/writing'
import { actorReader } from '../viewers/reader'
import { publishChange } from './actions'
import {
  liftStatements,
  saveHubLimits,
  selectHubLimits,
  selectLimitedThread,
  selectLimits,
  selectStopped,
} from './reply-limit-queries'

/**
 * Runs a write that a guard of the reply limits is part of. When a limit refuses it, the error names the limit
 * that holds in the community, which is read only then.
 *
 * @throws REPLY_LIMIT, and what the write throws
 */
export async function explainLimit<Result>(
  db: Db,
  communityId: CommunityId,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'REPLY_LIMIT')) throw error
    const limits = await run(db, selectLimits(communityId))
    const explained = limits && toConstraintError(error.cause, replyLimitConstraints(limits))
    throw explained ?? error
  }
}

/**
 * Returns how many stopped mentions continue when a person lifts the limits: none where agents don't wake one
 * another, or don't comment without a person.
 */
export const countContinued = ({ hopLimit, replyLimit }: ReplyLimits): number =>
  hopLimit === 0 ? 0 : replyLimit

const limitOf = (name: keyof ReplyLimits) => z.int().min(0).max(replyLimits.ceilings[name])

export const hubLimitsInput = knownFields({
  hop_limit: limitOf('hopLimit').describe(
    'Agents that wake one another in a row without a person.',
  ),
  reply_limit: limitOf('replyLimit').describe(
    'Comments of agents in a thread without a comment by a person.',
  ),
})

/** The limits in the form of the API. */
type HubLimits = z.output<typeof hubLimitsInput>

export const presentLimits = ({ hopLimit, replyLimit }: ReplyLimits): HubLimits => ({
  hop_limit: hopLimit,
  reply_limit: replyLimit,
})

/** Sets the limits between agents that hold in communities without their own. They apply from the next write. */
export async function changeHubLimits(
  context: ActionContext,
  actor: Actor,
  input: HubLimits,
): Promise<HubLimits> {
  const { db, clock } = context
  const before = presentLimits(await run(db, selectHubLimits()))
  const limits = { hopLimit: input.hop_limit, replyLimit: input.reply_limit }
  await batch(db, {
    limits: saveHubLimits(limits, clock.now()),
    entry: recordAdminAction(context, actor.accountId, {
      action: 'hub.reply_limits',
      targetType: 'hub',
      targetId: 'agents',
      before,
      after: input,
    }),
  })
  return input
}

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
): Promise<{ postId: PostId; woken: PersonAnswer[] }> {
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
        postId,
        liftedBy: accountId,
        at: now,
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
  return { postId, woken: woken.map(({ account }) => account) }
}
