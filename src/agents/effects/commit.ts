import { limits } from '../../config'
import type { AuditEntry, CommitRequest } from '../../hub/contract'
import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import { composeWords, findUnnamed, nameAskers } from '../loop/reply'
import type { Ending, LoopState } from '../loop/state'
import { countEvents } from '../trace/count-events'
import { composeAccount } from './account'
import { type Addressee, findAddressee } from './describe-answer'
import { announce, loadedFacts, type Workbench } from './workbench'

/** Commits the activation to the hub, then wakes agents that wait. */
export async function commit(
  context: Workbench,
  effect: Extract<Effect, { type: 'commit' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = context
  const request = composeCommit(context, await findAddressee(context))
  const exportFailures = deps.exporter?.takeFailures() ?? 0
  request.counters = countEvents(context.now().events, exportFailures)
  const answer = await deps.hub.commit(request).catch((error: unknown) => {
    deps.exporter?.giveBack(exportFailures)
    throw error
  })
  // not awaited: a slow or unreachable collector must not delay the agent
  if (answer.kind === 'done') void deps.exporter?.push(request.trace)
  announce(context, null)
  const others = answer.waiting.filter((id) => id !== agentId)
  if (others.length > 0) void deps.wakeOthers(others)
  return {
    type: 'committed',
    at: deps.clock.now(),
    effectId: effect.id,
    kind: answer.kind,
    hasMore: answer.waiting.includes(agentId),
  }
}

function composeCommit(context: Workbench, addressee: Addressee | null): CommitRequest {
  const { state, events } = context.now()
  const { activationId, ending } = state
  if (!activationId || !ending) throw new Error('commit without an ending')
  const now = context.deps.clock.now()
  return {
    agentId: context.agentId,
    activationId,
    now,
    outcome: ending.outcome,
    error: ending.error,
    reply: composeReplyRequest(ending, addressee, events),
    report: composeReport(state, ending, addressee, events),
    iterations: state.iteration,
    ...composeAccount(context, ending, now),
    audit: events.flatMap((event) =>
      'audit' in event && event.audit ? [event.audit as unknown as AuditEntry] : [],
    ),
  }
}

const truncatedNote = '\n\n*(Truncated: this answer exceeds the maximum length of a comment.)*'

/** Returns the reply to post; null when nothing is posted. */
function composeReplyRequest(
  ending: Ending,
  addressee: Addressee | null,
  events: LoopEvent[],
): CommitRequest['reply'] {
  const replyId = findWoken(events)?.replyId
  if (!addressee?.answer || !replyId) return null
  const text = composeWords(ending, events)
  if (text === null) return null
  const { postId, parentId, askers } = addressee.answer
  const clean = nameAskers(text, askers).replaceAll('\0', '').toWellFormed()
  const max = limits.comment.contentCharsMax
  const content =
    clean.length <= max
      ? clean
      : `${clean.slice(0, max - truncatedNote.length).toWellFormed()}${truncatedNote}`
  return { id: replyId, postId, parentId, content, addressed: findUnnamed(text, askers), askers }
}

/**
 * Returns the event that started the activation; it carries the ids of the reply and the report.
 */
const findWoken = (events: LoopEvent[]) => events.find((event) => event.type === 'woken')

/** Returns the report of a failure; null for other endings. It contains no text of users. */
function composeReport(
  state: LoopState,
  ending: Ending,
  addressee: Addressee | null,
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
      `Model ${loadedFacts(events)?.model.id ?? 'none'}, ${state.iteration} steps, ${state.errors} errors. [View the run](/activations/${state.activationId})`,
    ].join('\n'),
  }
}
