import type {
  CompactedSession,
  SessionFacts,
  SessionSnapshot,
  SummaryResult,
} from '../../agents/contract/agents'
import { canReadSession } from '../../agents/contract/knowledge'
import { manualCompaction } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { callOnce } from '../models/single-call'
import type { Viewer } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import { type SeenAgent, toSeenAgent, viewStatements } from './agent-view'
import { sessionErrors } from './errors'

/** Who reads or changes sessions. */
export interface SessionCaller {
  viewer: Viewer
  reader: Reader
}

/** What of a session decides who sees it. */
export type SessionFactsOfAccess = Pick<SessionFacts, 'privateTo' | 'hasShared'>

/** Returns an agent with what the caller sees of its sessions. @throws NOT_FOUND */
export async function findSeenAgent(
  context: ActionContext,
  { viewer, reader }: SessionCaller,
  name: string,
): Promise<SeenAgent> {
  return toSeenAgent(context, viewer, await batch(context.db, viewStatements(name, reader)))
}

/** Whether the caller deals with all sessions: those of others an admin reads after opening them. */
export const isAdminOrAgent = ({ id, role }: Viewer, agent: SeenAgent): boolean =>
  role === 'admin' || id === agent.id

/**
 * Throws for a session that the viewer does not see: NOT_FOUND for the owner of the agent, and FORBIDDEN for
 * others, who do not learn whether it exists.
 */
export function requireReadable({ view }: SeenAgent, session: SessionFactsOfAccess | null): void {
  if (session && canReadSession(view, session)) return
  throw view.isManager ? sessionErrors.notFound() : sessionErrors.noAccess()
}

/** Checks that the caller may change a session, and records that somebody else than the agent does. */
async function beginChange(
  context: ActionContext,
  { viewer }: SessionCaller,
  agent: SeenAgent,
  [action, id]: [action: string, id: string],
): Promise<void> {
  if (!isAdminOrAgent(viewer, agent)) {
    requireReadable(agent, await context.agents.sessions.read(agent.id, id))
  }
  await recordChange(context, viewer, agent, [action, id])
}

/** The agent keeps its sessions, so the entry is written before the change. */
async function recordChange(
  context: ActionContext,
  { id: by }: Viewer,
  agent: SeenAgent,
  [action, id]: [action: string, id: string],
): Promise<void> {
  const entry = { action, targetType: 'session', targetId: id, after: { agentId: agent.id } }
  if (by !== agent.id) await run(context.db, recordAdminAction(context, by, entry))
}

/** Deletes the history of a session. @throws NOT_FOUND */
export async function resetSession(
  context: ActionContext,
  caller: SessionCaller,
  agent: SeenAgent,
  id: string,
): Promise<void> {
  await beginChange(context, caller, agent, ['session.reset', id])
  if (!(await context.agents.sessions.reset(agent.id, id))) throw sessionErrors.notFound()
}

/** A compaction, with what wrote the summary. */
export interface Compaction extends CompactedSession {
  /** Null when nothing was replaced. */
  by: 'model' | 'extract' | null
  /** Why the model did not write the summary; null when it did. */
  note: string | null
  costMicrousd: number
}

/**
 * Replaces the oldest messages of a session by a summary. The agent's model writes it when the budgets of the agent
 * and of the caller have the money for its worst case; otherwise it is an extract, and the note says why.
 *
 * @throws NOT_FOUND; CONFLICT while the agent runs
 */
export async function compactSession(
  context: ActionContext,
  caller: SessionCaller,
  agent: SeenAgent,
  id: string,
): Promise<Compaction> {
  await beginChange(context, caller, agent, ['session.compact', id])
  const { summaries, note } = await summarizeSession(context, caller, agent, id)
  const compacted = await context.agents.sessions.compact(agent.id, id, summaries)
  if (!compacted) throw sessionErrors.notFound()
  const by = compacted.replaced === 0 ? null : note === null ? 'model' : 'extract'
  const costMicrousd = (summaries?.usages ?? []).reduce((sum, { microusd }) => sum + microusd, 0)
  return { ...compacted, by, note, costMicrousd }
}

/** Asks the agent's model for the summaries; null, with the reason, when it writes none. */
async function summarizeSession(
  context: ActionContext,
  { viewer }: SessionCaller,
  agent: SeenAgent,
  id: string,
): Promise<{ summaries: SummaryResult | null; note: string | null }> {
  const { db, agents, models } = context
  const connections = await run(db, models.selectConnections())
  const plan = await agents.sessions.planSummary(agent, id, connections)
  if (!plan) throw sessionErrors.notFound()
  if (plan.kind === 'extract') return { summaries: null, note: plan.reason }
  const { draft, kind: _, ...worst } = plan
  const planned = {
    ...{ ...worst, agentId: agent.id, accountId: viewer.id as AccountId },
    timeoutMs: manualCompaction.timeoutMs,
  }
  const asked = await callOnce(context, planned, null, () =>
    agents.sessions.summarize(agent, draft, connections),
  )
  if (asked.kind === 'called') return { summaries: asked.result, note: asked.result.failure }
  if (asked.reason === 'running') throw sessionErrors.running(agent.name)
  return { summaries: null, note: refusalNotes[asked.reason] }
}

/** Why the model was not asked, as people read it. */
const refusalNotes = {
  paused: 'All agents are paused, so no model was called.',
  budget: 'The budget is too low for a summary by the model.',
}

/**
 * Replaces a session by a snapshot. Only an admin and the agent itself restore one that does not exist, because
 * nothing says then to whom it was private.
 *
 * @param requireOpen checks that the caller may read the session that is replaced
 * @throws NOT_FOUND, FORBIDDEN, TOO_LARGE
 */
export async function restoreSession(
  context: ActionContext,
  { viewer }: SessionCaller,
  agent: SeenAgent,
  snapshot: SessionSnapshot,
  requireOpen: (present: SessionFactsOfAccess) => Promise<void>,
): Promise<void> {
  const { sessions } = context.agents
  const present = await sessions.read(agent.id, snapshot.id)
  if (present) await requireOpen(present)
  else if (!isAdminOrAgent(viewer, agent)) requireReadable(agent, null)
  await recordChange(context, viewer, agent, ['session.restore', snapshot.id])
  if (!(await sessions.restore(agent.id, snapshot.id, snapshot))) throw sessionErrors.tooLarge()
}
