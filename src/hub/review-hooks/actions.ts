import * as z from 'zod'
import { batch, run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { selectTaskAgent } from '../tasks/queries'
import { guardActor } from '../viewers/guard-access-queries'
import type { Viewer } from '../viewers/queries'
import { reviewHookErrors } from './errors'
import { deleteReviewHook, insertReviewHook } from './queries'

export const reviewHookInput = knownFields({
  agent: z.string().trim().min(1).max(100).describe('Name of the agent that answers.'),
})

export interface NewReviewHook {
  id: string
  agent: string
  /** Returned only once. */
  secret: string
  createdAt: number
}

/**
 * Creates a hook: reviews of pull requests whose branch the agent pushed continue their threads. The account asks
 * for the runs and pays for them.
 *
 * @throws FORBIDDEN for anyone but people who are members, NOT_FOUND for an agent that does not run here,
 *   UNAVAILABLE without a vault key, CONFLICT when the account has too many
 */
export async function createReviewHook(
  context: ActionContext,
  actor: Actor,
  { role }: Pick<Viewer, 'role'>,
  input: z.output<typeof reviewHookInput>,
): Promise<IdempotentResult<NewReviewHook>> {
  if (actor.kind !== 'human' || role === 'guest') throw reviewHookErrors.membersOnly()
  const { db, clock, hookSecrets } = context
  const { accountId, idempotencyKey: key } = actor
  const agent = await run(db, selectTaskAgent(input.agent))
  if (!agent) throw reviewHookErrors.agentNotFound()
  const id = clock.newId()
  const secret = await hookSecrets.read(id)
  if (secret === null) throw reviewHookErrors.noKey()
  const createdAt = clock.now()
  const once = { accountId, key, action: 'review_hooks.create', input }
  return runOnce(db, once, {
    now: createdAt,
    answer: { id, agent: agent.name, secret, createdAt },
    isSecret: true,
    constraints: { 'review_hooks.created_at': reviewHookErrors.tooMany },
    statements: {
      guard: await guardActor(context, actor, { role: 'member' }),
      hook: insertReviewHook({ id, agentId: agent.id, accountId, createdAt }),
    },
  })
}

/** Deletes a hook of the account: what is sent to it starts nothing any more. @throws NOT_FOUND */
export async function removeReviewHook(
  { db }: ActionContext,
  { accountId }: Pick<Actor, 'accountId'>,
  id: string,
): Promise<void> {
  const { isDeleted } = await batch(db, deleteReviewHook(id, accountId))
  if (!isDeleted) throw reviewHookErrors.notFound()
}
