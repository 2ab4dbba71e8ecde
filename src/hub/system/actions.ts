import { notFound } from '../../errors'
import type { AccountId } from '../../ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract'
import { type Done, runOnce } from '../idempotency/run-once'
import { armSweep, wakeAll } from '../inbox/deliver'
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
  const token = isPaused ? null : await armSweep(context)
  const done = await runOnce(
    db,
    { accountId: actor.accountId, key: actor.idempotencyKey, action: 'system.pause', input },
    { now, answer: { paused: isPaused }, statements: [change] },
  )
  if (!isPaused) await wakeWaiting(context, agent?.accountId ?? null, token)
  return done
}

/** What was asked during a pause is answered after it. */
async function wakeWaiting(
  context: ActionContext,
  agentId: AccountId | null,
  token: number | null,
): Promise<void> {
  const { results } = await selectWaitingAgents(context.db, agentId).all<Named>()
  context.defer(wakeAll(context, results, token))
}
