import { notFound } from '../../errors'
import type { AccountId } from '../../ids'
import type { ActionContext } from '../action-context'
import { selectWaitingAgents, updateAgentPause, updateHubPause } from './queries'

interface Named {
  accountId: AccountId
}

/** Pauses or resumes all agents; it holds from their next model call on (H21). */
export async function pauseHub(context: ActionContext, isPaused: boolean): Promise<void> {
  await updateHubPause(context.db, isPaused, context.clock.now()).run()
  if (!isPaused) await wakeWaiting(context, null)
}

/**
 * Pauses or resumes one agent.
 *
 * @throws NOT_FOUND when no agent of this hub has that name
 */
export async function pauseAgent(
  context: ActionContext,
  name: string,
  isPaused: boolean,
): Promise<void> {
  const agent = await updateAgentPause(
    context.db,
    name,
    isPaused,
    context.clock.now(),
  ).first<Named>()
  if (!agent) throw notFound('agent', 'Only agents that run on this hub can be paused.')
  if (!isPaused) await wakeWaiting(context, agent.accountId)
}

/** What was asked during a pause is answered after it. */
async function wakeWaiting(context: ActionContext, agentId: AccountId | null): Promise<void> {
  const { db, agents, scheduler, defer } = context
  const { results } = await selectWaitingAgents(db, agentId).all<Named>()
  if (results.length === 0) return
  await scheduler.arm().catch(() => null)
  defer(Promise.all(results.map(({ accountId }) => agents.wake(accountId))))
}
