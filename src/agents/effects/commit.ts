import type { CommitRequest, LoadedActivation, SteeringItem, Usage } from '../../hub/contract/hub'
import { limits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { addMentions, findUnmentioned } from '../../shared/markdown/render-markdown'
import type { Charge, LoadedFacts, LoopEvent, LoopEventOf } from '../loop/event'
import { hasReadUntrusted } from '../loop/privacy'
import { composeReplyText, isPass } from '../loop/reply'
import type { Effect, Ending, LoopState } from '../loop/state'
import { listCharges } from '../run/charges'
import { countEvents } from '../run/counters'
import { composeRecord, serializeRecord } from '../run/record'
import type { RunEvent, RunLog } from '../run/run-event'
import { describeProgress, toRunLog } from '../run/run-log'
import { type EffectContext, findLoadedFacts, notifyWatchers } from './effect-context'

/** Commits the activation to the hub, then wakes agents that wait. */
export async function commit(
  context: EffectContext,
  effect: Extract<Effect, { type: 'commit' }>,
): Promise<LoopEvent> {
  const { deps, agentId, getActivation } = context
  const { ending } = getActivation().state
  const addressee = ending && isSilentlyBare(ending) ? null : await findReplyContext(context)
  const exportFailures = deps.exporter?.takeFailures() ?? 0
  const request = composeCommit(context, addressee, exportFailures)
  const answer = await deps.hub.commit(request).catch((error: unknown) => {
    deps.exporter?.restoreFailures(exportFailures)
    throw error
  })
  // not awaited: a slow or unreachable collector must not delay the agent
  if (answer.kind === 'done') void deps.exporter?.push(request.activationId, request.trace)
  notifyWatchers(context, null)
  // Not awaited either. What a crash leaves open is closed once it is idle.
  void deps.tools.endRun(request.activationId, listCalledTools(context.getActivation().events))
  const others = answer.waiting.filter((id) => id !== agentId)
  if (others.length > 0) void deps.wakeAgents(others)
  return {
    type: 'committed',
    at: deps.clock.now(),
    effectId: effect.id,
    kind: answer.kind,
    hasMore: answer.waiting.includes(agentId),
  }
}

/** Whether a run that is set aside ends without the notice: the hub is not asked whom it would be for. */
const isSilentlyBare = ({ isBare, reply }: Ending): boolean => isBare === true && reply === 'silent'

function composeCommit(
  context: EffectContext,
  addressee: ReplyContext | null,
  exportFailures: number,
): CommitRequest {
  const { state, events } = context.getActivation()
  const { activationId, ending } = state
  if (!activationId || !ending) throw new Error('commit without an ending')
  const now = context.deps.clock.now()
  const { log, stored } = describeActivation(events, ending, now)
  return {
    agentId: context.agentId,
    activationId,
    now,
    outcome: ending.outcome,
    hasReadUntrusted: hasReadUntrusted(findLoadedFacts(events), events),
    error: ending.error,
    reply: composeReplyRequest(ending, addressee, events),
    report: composeReport(state, ending, addressee, events),
    iterations: state.iteration,
    ...findProgramType(events),
    notGranted: listNotGranted(context),
    joined: listJoined(context),
    ...findRefusedCall(ending, events),
    ...stored,
    counters: countEvents(log.events, exportFailures),
    audit: listAudit(events),
  }
}

const findProgramType = (events: LoopEvent[]): Pick<CommitRequest, 'program'> => {
  const program = findLoadedFacts(events)?.program
  return program ? { program: program.type } : {}
}

const listCalledTools = (events: LoopEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type === 'program_called') return [event.name]
    return event.type === 'model_answered' ? event.answer.calls.map(({ name }) => name) : []
  })

/** Returns the newest audit entry of each call: one that waited for an approval ran after it, or was denied. */
function listAudit(events: LoopEvent[]): CommitRequest['audit'] {
  const entries = events.flatMap((event) => ('audit' in event && event.audit ? [event.audit] : []))
  return [...new Map(entries.map((entry) => [entry.callId, entry])).values()]
}

/** Returns the grants that the definition requests and the policy did not grant for this run. */
function listNotGranted({ deps, hubSnapshot }: EffectContext): string[] {
  const policy = hubSnapshot?.policy
  return (policy?.requested ?? []).filter((grant) => policy && !deps.tools.isGranted(policy, grant))
}

/** Returns what the call needed that a budget refused, so that the budget's status shows it. */
function findRefusedCall(ending: Ending, events: LoopEvent[]): Pick<CommitRequest, 'refusedCall'> {
  if (ending.outcome !== 'budget_exhausted') return {}
  const refusal = events.findLast(
    (event): event is LoopEventOf<'model_refused' | 'request_refused'> =>
      event.type === 'model_refused' || event.type === 'request_refused',
  )
  // refused by LOAD: nothing useful is left
  return { refusedCall: refusal?.needs ?? { microusd: 1, tokens: 1 } }
}

const truncatedNote = '\n\n*(Truncated: this answer exceeds the maximum length of a comment.)*'

/** Returns the reply to post; null when nothing is posted. */
function composeReplyRequest(
  ending: Ending,
  addressee: ReplyContext | null,
  events: LoopEvent[],
): CommitRequest['reply'] {
  const replyId = findWoken(events)?.replyId
  if (!addressee?.answer || !replyId || hasReportedInThread(events)) return null
  const text = composeReplyText(ending, events, describeProgress(ending, events))
  if (text === null) return null
  // a program may end with the word, or with nothing
  const mayPass = findLoadedFacts(events)?.task === 'scheduled'
  if (mayPass && (text.trim() === '' || isPass(text))) return null
  const { postId, parentId, requesters } = addressee.answer
  const clean = addMentions(text, requesters).replaceAll('\0', '').toWellFormed()
  const max = limits.comment.contentCharsMax
  const content =
    clean.length <= max ? clean : `${cutText(clean, max - truncatedNote.length)}${truncatedNote}`
  return {
    id: replyId,
    postId,
    parentId,
    content,
    addressed: findUnmentioned(text, requesters),
    requesters: requesters,
  }
}

/** Tools that write in a thread. */
const threadTools: ReadonlySet<string> = new Set(['hub_create_post', 'hub_create_comment'])

/** Whether a scheduled run has written in a thread: its final words are for nobody else then. */
function hasReportedInThread(events: LoopEvent[]): boolean {
  if (findLoadedFacts(events)?.task !== 'scheduled') return false
  return toRunLog(events, null).events.some(
    (event) => event.type === 'tool_returned' && threadTools.has(event.name) && !event.isError,
  )
}

/**
 * Returns the event that started the activation; it carries the ids of the reply and the report.
 */
const findWoken = (events: LoopEvent[]) => events.find((event) => event.type === 'woken')

/** Returns the report of a failure; null for other endings. It contains no text of users. */
function composeReport(
  state: LoopState,
  ending: Ending,
  addressee: ReplyContext | null,
  events: LoopEvent[],
): CommitRequest['report'] {
  const reportId = findWoken(events)?.reportId
  if (ending.outcome !== 'failed' || !ending.error || !reportId) return null
  const name = addressee?.agentName ?? 'An agent'
  return {
    id: reportId,
    title: `${name} failed: ${ending.error.code}`,
    content: [
      ending.error.message,
      '',
      `Model ${findLoadedFacts(events)?.model.id ?? 'none'}, ${state.iteration} steps, ${state.errors} errors. [View the run](/activations/${state.activationId})`,
    ].join('\n'),
  }
}

/**
 * Sends the open approvals, or the provider to wait for, to the hub, which settles the cost and
 * releases the slot; then wakes agents that wait.
 */
export async function park(
  context: EffectContext,
  effect: Extract<Effect, { type: 'park' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = context
  const { state, events } = context.getActivation()
  if (!state.activationId) throw new Error('park without an activation')
  const now = deps.clock.now()
  const parked = state.calls.flatMap(({ callId, status }) => (status === 'parked' ? [callId] : []))
  const approvals = parked.flatMap((callId) => findApproval(events, callId) ?? [])
  const outage = approvals.length === 0 ? state.outage : null
  const answer = await deps.hub.park({
    agentId,
    activationId: state.activationId,
    now,
    approvals,
    ...(outage && { outage }),
    ...(state.program && { areRequested: true }),
    iterations: state.iteration,
    ...describeActivation(events, null, null).stored,
  })
  notifyWatchers(context, null)
  const others = answer.waiting.filter((id) => id !== agentId)
  if (others.length > 0) void deps.wakeAgents(others)
  return {
    type: 'parked',
    at: deps.clock.now(),
    effectId: effect.id,
    kind: answer.kind,
    hasMore: answer.waiting.includes(agentId),
  }
}

/**
 * Returns the newest approval that a call requested (a call may need a second one); null for none.
 */
export function findApproval(events: LoopEvent[], callId: string) {
  const asked = events.findLast(
    (event) =>
      (event.type === 'tool_parked' || event.type === 'program_call_waits') &&
      event.approval.callId === callId,
  )
  return asked?.type === 'tool_parked' || asked?.type === 'program_call_waits'
    ? asked.approval
    : null
}

/** Returns what the hub stores of an activation when it parks or ends, and the log that it was counted from. */
export function describeActivation(
  events: LoopEvent[],
  ending: Ending | null,
  finishedAt: number | null,
) {
  const log = toRunLog(events, ending, finishedAt)
  const model = findLoadedFacts(events)?.model.id ?? 'none'
  const usage = collectUsage(log, model)
  const trace = serializeRecord(composeRecord(events, ending, finishedAt))
  return { log, stored: { usage, tools: listReturnedTools(log.events), trace, model } }
}

/** Returns the usage of every call that has a charge, numbered in the order of the log. */
export const collectUsage = ({ events }: RunLog, model: string): Usage[] =>
  listCharges(events).map(({ at, charge }, index) =>
    toUsage(charge, { call: index + 1, model: charge.model ?? model, at }),
  )

/** Returns the names of the tools that returned a result. */
function listReturnedTools(events: RunEvent[]): string[] {
  const names = new Set<string>()
  for (const event of events) if (event.type === 'tool_returned') names.add(event.name)
  return [...names]
}

/** Returns what is charged for a call of a model. @param call its number, from 1 */
export const toUsage = (
  charge: Charge,
  { call, model, at }: { call: number; model: string; at: number },
): Usage => ({
  inputTokens: charge.inputTokens,
  cachedTokens: charge.cachedTokens,
  outputTokens: charge.outputTokens,
  reasoningTokens: charge.reasoningTokens,
  costMicrousd: charge.microusd,
  isPriced: charge.isPriced,
  isEstimated: charge.isEstimated,
  durationMs: charge.durationMs,
  call,
  model,
  at,
})

/**
 * Returns where the answer of a task is posted: below the newest mention, for all requesters; for a
 * task outside a thread, in the inbox of the requester or of whoever saved its schedule. Null for explorations,
 * which have no requester, and schedules of the hub itself.
 */
export function toReplyTarget({ task, thread, items }: LoadedActivation): LoadedFacts['answer'] {
  if (task === 'exploration') return null
  if (task === 'scheduled' && !items.some(({ savedBy }) => savedBy)) return null
  if (thread) {
    return {
      postId: thread.post.id,
      parentId: items.at(-1)?.commentId ?? null,
      requesters: [...new Set(items.map(({ from }) => from.name))],
    }
  }
  return task === 'manual' || task === 'dm' || task === 'scheduled'
    ? { postId: null, parentId: null, requesters: [] }
    : null
}

/** The destination of the answer and the name of the agent, for the commit. */
type ReplyContext = Pick<LoadedFacts, 'answer' | 'agentName'>

/**
 * Returns the destination of the answer. When no answer of LOAD was received, asks the hub what it
 * has claimed for this activation, so that the requester still gets a reply; with capacity 0 the
 * hub claims nothing new. Null: nothing is claimed, and the task stays in the inbox.
 */
async function findReplyContext(context: EffectContext): Promise<ReplyContext | null> {
  const { deps, agentId } = context
  const { state, events } = context.getActivation()
  const facts = findLoadedFacts(events)
  if (facts || !state.activationId) return facts
  const found = await deps.hub.load({
    agentId,
    activationId: state.activationId,
    now: deps.clock.now(),
    capacity: 0,
    canExplore: false,
  })
  return found.kind === 'loaded'
    ? { answer: toReplyTarget(found), agentName: found.agent.name }
    : null
}

/** Asks the hub for comments that join the run. */
export async function steer(
  context: EffectContext,
  effect: Extract<Effect, { type: 'steer' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = context
  const { activationId } = context.getActivation().state
  if (!activationId) throw new Error('steering without an activation')
  const items = await deps.hub.steer({ agentId, activationId, now: deps.clock.now() })
  const at = deps.clock.now()
  return { type: 'steered', at, effectId: effect.id, items: findNewItems(context, items) }
}

/** Returns the ids of the comments that joined the run and are in its journal. */
const listJoined = ({ getActivation }: EffectContext): SteeringItem['id'][] =>
  getActivation().events.flatMap((event) =>
    event.type === 'steered' ? event.items.map(({ id }) => id) : [],
  )

/** Returns the comments that the journal does not have yet. */
export function findNewItems(context: EffectContext, items: SteeringItem[]): SteeringItem[] {
  const known = new Set(listJoined(context))
  return items.filter(({ id }) => !known.has(id))
}
