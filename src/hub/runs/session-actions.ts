import * as z from 'zod'
import type {
  CompactedSession,
  KnowledgeView,
  LastCall,
  SessionFacts,
  SessionMessage,
  SessionSnapshot,
  SummaryResult,
  TokenCounters,
} from '../../agents/contract/agents'
import { canReadSession } from '../../agents/contract/sessions'
import { manualCompaction, memoryLimits } from '../../shared/config'
import { type Answers, batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { canEditAgent, type Editor } from '../agents/definition-rules'
import { callOnce } from '../agents/model-actions'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { countAnswer, microusdAnswer, presenterOf, timeAnswer } from '../http/answers'
import { deleteChangedRequests } from '../inbox/stop-queries'
import type { Viewer } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import { selectKnowingAgent, selectSeenOwners } from './session-view-queries'

/** Errors of sessions, as users read them. */
export const sessionErrors = {
  notFound: () =>
    notFound('session', 'GET /api/v1/agents/:name/sessions lists the sessions of an agent.'),
  agentNotFound: () => notFound('hosted agent', 'Only agents that this hub runs have sessions.'),
  noAccess: () =>
    new AppError(
      'FORBIDDEN',
      'Only admins, the owner of the agent and the agent itself can access its sessions.',
      {
        hint: 'You can access those that are private to you, from your direct messages.',
      },
    ),
  closed: (owners: string[]) =>
    new AppError('FORBIDDEN', `The session is private to ${owners.join(' and ')}.`, {
      hint: 'Open it as admin first: POST /api/v1/openings with a reason.',
    }),
  running: (name: string) =>
    new AppError('CONFLICT', `${name} is running.`, {
      hint: 'Compact the session when the run has ended.',
    }),
  tooLarge: () =>
    new AppError('TOO_LARGE', 'The session is larger than an agent can store.', {
      hint: 'Remove the oldest messages and describe them in the summary.',
    }),
  invalidId: () =>
    new AppError('VALIDATION', 'The session id is not valid.', {
      details: [{ path: 'path.id', message: 'Must be {channel}_{chat_id}, without spaces' }],
    }),
}

const count = z.int().min(0)
const text = z.string().max(100_000)
const name = z.string().min(1).max(64)

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), text }),
  z.strictObject({
    role: z.literal('assistant'),
    text,
    calls: z.array(z.strictObject({ call_id: name, name, arguments: text })).default([]),
  }),
  z.strictObject({
    role: z.literal('tool'),
    results: z.array(z.strictObject({ call_id: name, name, text, is_error: z.boolean() })).min(1),
  }),
])
type MessageInput = z.output<typeof message>

const counters = {
  input_tokens: count.default(0),
  cached_tokens: count.default(0),
  output_tokens: count.default(0),
  cost_microusd: count.default(0),
}

const lastCallFields = {
  last_prompt_tokens: count.nullable(),
  last_completion_tokens: count.nullable(),
  context_limit: count.nullable(),
}

/** A snapshot as GET returns it; its id and the time of its last change are those of the restored session. */
export const snapshotInput = knownFields({
  id: z.string().max(memoryLimits.sessionIdCharsMax).optional(),
  updated_at: z.iso.datetime().optional(),
  summary: z.string().max(memoryLimits.summaryCharsMax).default(''),
  activations: count.default(0),
  ...counters,
  ...z.object(lastCallFields).partial().shape,
  created_at: z.iso.datetime().optional(),
  messages: z
    .array(message)
    .max(memoryLimits.restoredMessagesMax)
    .superRefine((messages, context) => {
      const unpaired = findUnpaired(messages)
      if (unpaired === null) return
      context.addIssue({
        code: 'custom',
        path: [unpaired],
        message: 'Tool calls must be followed by their results: one per call, in the same order',
      })
    }),
})

/**
 * Returns the index of the first message whose calls and results do not match, which model providers
 * reject; null when all match.
 */
function findUnpaired(messages: MessageInput[]): number | null {
  let open: string[] = []
  for (const [index, each] of messages.entries()) {
    const answered = each.role === 'tool' ? each.results.map((result) => result.call_id) : []
    if (answered.join('\n') !== open.join('\n')) return index
    open = each.role === 'assistant' ? each.calls.map((call) => call.call_id) : []
  }
  return open.length > 0 ? messages.length - 1 : null
}

/** Converts the input of a restore to a snapshot; `createdAt` defaults to now. */
export function toSnapshot(
  id: string,
  input: z.output<typeof snapshotInput>,
  now: number,
): SessionSnapshot {
  const createdAt = input.created_at === undefined ? now : Date.parse(input.created_at)
  return {
    id,
    summary: input.summary,
    activations: input.activations,
    inputTokens: input.input_tokens,
    cachedTokens: input.cached_tokens,
    outputTokens: input.output_tokens,
    costMicrousd: input.cost_microusd,
    lastCall: toLastCall(input),
    createdAt,
    updatedAt: now,
    privateTo: [],
    hasShared: true,
    messages: input.messages.map(toMessage),
  }
}

function toLastCall(input: z.output<typeof snapshotInput>): LastCall | null {
  const promptTokens = input.last_prompt_tokens
  const completionTokens = input.last_completion_tokens
  const contextLimit = input.context_limit
  if (promptTokens == null || completionTokens == null || contextLimit == null) return null
  return { promptTokens, completionTokens, contextLimit }
}

function toMessage(input: MessageInput): SessionMessage {
  switch (input.role) {
    case 'user':
      return input
    case 'assistant':
      return {
        ...input,
        calls: input.calls.map(({ call_id, ...call }) => ({ callId: call_id, ...call })),
      }
    case 'tool':
      return {
        role: 'tool',
        results: input.results.map(({ call_id, is_error, ...result }) => ({
          callId: call_id,
          ...result,
          isError: is_error,
        })),
      }
  }
}

const countersAnswer = {
  input_tokens: countAnswer,
  cached_tokens: countAnswer,
  output_tokens: countAnswer,
  cost_microusd: microusdAnswer,
}

export const totalsAnswer = z.object({ activations: countAnswer, ...countersAnswer })

export const sessionFactsAnswer = totalsAnswer.extend({
  id: z.string().describe('`{channel}_{chat_id}`.'),
  summary: z.string().describe('Summary of the compacted messages; empty when there are none.'),
  last_prompt_tokens: lastCallFields.last_prompt_tokens.describe(
    'Tokens of the last prompt; null until a model has answered.',
  ),
  last_completion_tokens: lastCallFields.last_completion_tokens.describe(
    'Tokens of the last answer of the model.',
  ),
  context_limit: lastCallFields.context_limit.describe(
    'Tokens that the context window of that model holds.',
  ),
  created_at: timeAnswer,
  updated_at: timeAnswer,
})

export const sessionAnswer = sessionFactsAnswer
  .extend({ messages: z.array(message) })
  .meta({ id: 'Session' })

export const presentTotals = presenterOf(totalsAnswer).from<
  TokenCounters & { activations: number }
>({})

export const presentSessionFacts = presenterOf(sessionFactsAnswer).from<
  Omit<SessionFacts, 'messageCount' | 'privateTo' | 'hasShared'>
>({
  last_prompt_tokens: ({ lastCall }) => lastCall?.promptTokens ?? null,
  last_completion_tokens: ({ lastCall }) => lastCall?.completionTokens ?? null,
  context_limit: ({ lastCall }) => lastCall?.contextLimit ?? null,
})

export function presentMessage(stored: SessionMessage): z.input<typeof message> {
  switch (stored.role) {
    case 'user':
      return stored
    case 'assistant':
      return {
        ...stored,
        calls: stored.calls.map(({ callId, ...call }) => ({ call_id: callId, ...call })),
      }
    case 'tool':
      return {
        role: 'tool',
        results: stored.results.map(({ callId, isError, ...result }) => ({
          call_id: callId,
          ...result,
          is_error: isError,
        })),
      }
  }
}

/** The reads that decide what a viewer sees of what an agent knows. */
export const viewStatements = (name: string, reader: Reader) => ({
  agent: selectKnowingAgent({ name }),
  owners: selectSeenOwners({ reader }),
})

type ViewAnswers = Answers<ReturnType<typeof viewStatements>>

export interface SeenAgent {
  id: AccountId
  name: string
  /** Of its active definition. */
  etag: string
  view: KnowledgeView
  /** Names of the communities whose data the viewer sees, by id. */
  labels: Map<string, string>
}

/**
 * Returns the agent, and what the viewer sees of what it knows. The agent itself and who can edit it manage it. What
 * its sessions hold of texts that changed is deleted before; while it runs that waits for its next run.
 *
 * @throws NOT_FOUND when this hub does not run the agent
 */
export async function toSeenAgent(
  { db, agents }: ActionContext,
  viewer: Editor,
  { agent, owners }: ViewAnswers,
): Promise<SeenAgent> {
  if (!agent) throw sessionErrors.agentNotFound()
  const { changed } = agent
  if (changed.length > 0 && (await agents.sessions.forget(agent.id, changed))) {
    const ids = changed.map(({ activationId }) => activationId)
    await run(db, deleteChangedRequests(agent.id, ids))
  }
  const self = viewer.id as AccountId
  const seen = owners.filter(({ isOpened }) => !isOpened)
  const isManager = canEditAgent(viewer, agent.ownerId) || self === agent.id
  return {
    id: agent.id,
    name: agent.name,
    etag: agent.etag,
    view: {
      self,
      owners: [self, ...seen.map(({ id }) => id)],
      opened: owners.filter(({ isOpened }) => isOpened).map(({ id }) => id),
      seesShared: isManager || viewer.role !== 'guest',
      isManager,
    },
    labels: new Map(seen.map(({ id, label }) => [id, label ?? ''])),
  }
}

/** Who reads or changes sessions. */
interface SessionCaller {
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
    ...worst,
    agentId: agent.id,
    accountId: viewer.id as AccountId,
    timeoutMs: manualCompaction.timeoutMs,
  }
  const asked = await callOnce(context, planned, null, () =>
    agents.sessions.summarize(agent, draft, connections),
  )
  if (asked.kind === 'called') return { summaries: asked.result, note: asked.result.failure }
  if (asked.reason === 'running' || asked.reason === 'repeated')
    throw sessionErrors.running(agent.name)
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
