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

/** COMMIT, then wake who waits. */
export async function commit(
  bench: Workbench,
  effect: Extract<Effect, { type: 'commit' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = bench
  const request = composeCommit(bench, await findAddressee(bench))
  const exportFailures = deps.exporter?.takeFailures() ?? 0
  request.counters = countEvents(bench.now().events, exportFailures)
  const answer = await deps.hub.commit(request).catch((error: unknown) => {
    deps.exporter?.giveBack(exportFailures)
    throw error
  })
  // nothing waits for it: a collector that is slow or away is not the agent's business
  if (answer.kind === 'done') void deps.exporter?.push(request.trace)
  announce(bench, null)
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

function composeCommit(bench: Workbench, addressee: Addressee | null): CommitRequest {
  const { state, events } = bench.now()
  const { activationId, ending } = state
  if (!activationId || !ending) throw new Error('a commit without an ending')
  const now = bench.deps.clock.now()
  return {
    agentId: bench.agentId,
    activationId,
    now,
    outcome: ending.outcome,
    error: ending.error,
    reply: composeAnswer(ending, addressee, events),
    report: composeReport(state, ending, addressee, events),
    iterations: state.iteration,
    ...composeAccount(bench, ending, now),
    audit: events.flatMap((event) =>
      'audit' in event && event.audit ? [event.audit as unknown as AuditEntry] : [],
    ),
  }
}

const cutNote = '\n\n*(Cut here: a comment holds no more.)*'

function composeAnswer(
  ending: Ending,
  addressee: Addressee | null,
  events: LoopEvent[],
): CommitRequest['reply'] {
  const replyId = findWoken(events)?.replyId
  if (!addressee?.answer || !replyId) return null
  const words = composeWords(ending, events)
  if (words === null) return null
  const { postId, parentId, askers } = addressee.answer
  const clean = nameAskers(words, askers).replaceAll('\0', '').toWellFormed()
  const max = limits.comment.contentCharsMax
  const content =
    clean.length <= max ? clean : `${clean.slice(0, max - cutNote.length).toWellFormed()}${cutNote}`
  return { id: replyId, postId, parentId, content, addressed: findUnnamed(words, askers), askers }
}

/** The event that began the activation; it brought the ids of what the activation will write. */
const findWoken = (events: LoopEvent[]) => events.find((event) => event.type === 'woken')

/** A failure is reported without anybody's words in it (L35). */
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
      `Model ${loadedFacts(events)?.model.id ?? 'none'}, ${state.iteration} steps, ${state.errors} errors. [What happened, step by step](/activations/${state.activationId})`,
    ].join('\n'),
  }
}
