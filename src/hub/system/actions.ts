import { run } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { selectHostedAgent, selectWaitingAgents, updateAgentPause, updateHubPause } from './queries'

export interface PauseResult {
  isPaused: boolean
}

/**
 * Pauses or resumes one agent, or all agents when `name` is null. Takes effect before the next model
 * call.
 *
 * @throws NOT_FOUND when no agent of this hub has that name
 */
export async function pauseAgents(
  context: ActionContext,
  actor: Actor,
  name: string | null,
  isPaused: boolean,
): Promise<IdempotentResult<PauseResult>> {
  const { db, clock } = context
  const now = clock.now()
  const agent = name === null ? null : await run(db, selectHostedAgent(name))
  if (name !== null && !agent) {
    throw notFound('agent', 'Only agents that run on this hub can be paused.')
  }
  const change = agent
    ? updateAgentPause(agent.accountId, isPaused, now)
    : updateHubPause(isPaused, now)
  const input = { name, isPaused }
  const entry = recordAdminAction(context, actor.accountId, {
    action: `${agent ? 'agent' : 'hub'}.${isPaused ? 'pause' : 'resume'}`,
    targetType: agent ? 'account' : 'hub',
    targetId: agent?.accountId ?? 'agents',
  })
  const token = isPaused ? null : await armSweep(context)
  const result = await runOnce(
    db,
    { accountId: actor.accountId, key: actor.idempotencyKey, action: 'system.pause', input },
    { now, answer: { isPaused }, statements: { change, entry } },
  )
  if (!isPaused) await wakeWaiting(context, agent?.accountId ?? null, token)
  return result
}

/** Wakes the agents that got tasks during the pause. */
async function wakeWaiting(
  context: ActionContext,
  agentId: AccountId | null,
  token: number | null,
): Promise<void> {
  const waiting = await run(context.db, selectWaitingAgents({ agentId, now: context.clock.now() }))
  context.defer(wakeAgents(context, waiting, token))
}

/** Records that the hub is about to stop. */
export const recordStop = (context: ActionContext, admin: AccountId) =>
  recordAdminAction(context, admin, {
    action: 'hub.stop',
    targetType: 'hub',
    targetId: 'connections',
  })
