import { notFound } from '../../errors'
import type { AccountId } from '../../ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract'
import { type Done, runOnce } from '../idempotency/run-once'
import { selectHostedAgent, selectWaitingAgents, updateAgentPause, updateHubPause } from './queries'

interface Named {
  accountId: AccountId
}

export interface Paused {
  paused: boolean
}

/**
 * Pauses or resumes one agent, or with null all of them; it holds from the next model call on (H21).
 *
 * @throws NOT_FOUND when no agent of this hub has that name
 */
export async function pauseAgents(
  context: ActionContext,
  actor: Actor,
  name: string | null,
  isPaused: boolean,
): Promise<Done<Paused>> {
  const { db, clock } = context
  const now = clock.now()
  const agent = name === null ? null : await selectHostedAgent(db, name).first<Named>()
  if (name !== null && !agent) {
    throw notFound('agent', 'Only agents that run on this hub can be paused.')
  }
  const change = agent
    ? updateAgentPause(db, agent.accountId, isPaused, now)
    : updateHubPause(db, isPaused, now)
  const input = { name, isPaused }
  const done = await runOnce(
    db,
    { accountId: actor.accountId, key: actor.idempotencyKey, action: 'system.pause', input },
    { now, answer: { paused: isPaused }, statements: [change] },
  )
  if (!isPaused) await wakeWaiting(context, agent?.accountId ?? null)
  return done
}

/** What was asked during a pause is answered after it. */
async function wakeWaiting(context: ActionContext, agentId: AccountId | null): Promise<void> {
  const { db, agents, scheduler, defer } = context
  const { results } = await selectWaitingAgents(db, agentId).all<Named>()
  if (results.length === 0) return
  await scheduler.arm().catch(() => null)
  defer(Promise.all(results.map(({ accountId }) => agents.wake(accountId))))
}
