import type { CommitRequest } from '../../hub/contract/hub'
import { limits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { addMentions, findUnmentioned } from '../../shared/markdown/add-mentions'
import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import { hasReadUntrusted } from '../loop/has-read-untrusted'
import { composeReplyText } from '../loop/reply'
import type { Ending, LoopState } from '../loop/state'
import { countEvents } from '../run/counters'
import { describeProgress } from '../run/describe-progress'
import { composeActivationRecord, readRunLog } from './activation-record'
import { type EffectContext, findLoadedFacts, notifyWatchers } from './effect-context'
import { findReplyContext, type ReplyContext } from './reply-target'
import { listJoined } from './steer'

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
  const log = readRunLog(context, ending, now)
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
    ...composeActivationRecord(context, log),
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
  const refusal = events.findLast((event) => event.type === 'model_refused')
  // refused by LOAD: nothing useful is left
  const needs = (refusal?.type === 'model_refused' && refusal.needs) || { microusd: 1, tokens: 1 }
  return { refusedCall: needs }
}

const truncatedNote = '\n\n*(Truncated: this answer exceeds the maximum length of a comment.)*'

/** Returns the reply to post; null when nothing is posted. */
function composeReplyRequest(
  ending: Ending,
  addressee: ReplyContext | null,
  events: LoopEvent[],
): CommitRequest['reply'] {
  const replyId = findWoken(events)?.replyId
  if (!addressee?.answer || !replyId) return null
  const text = composeReplyText(ending, events, describeProgress(ending, events))
  if (text === null) return null
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
