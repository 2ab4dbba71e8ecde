import { limits } from '../../config'
import type { AuditEntry, CommitRequest, Usage } from '../../hub/contract'
import type { Effect } from '../loop/effect'
import type { Charge, LoadedFacts, LoopEvent } from '../loop/event'
import type { Ending, LoopState } from '../loop/state'
import { composeReply } from '../loop/reply'
import { buildTrace } from '../trace/build-trace'
import { countEvents } from '../trace/count-events'
import { loadedFacts, type Workbench } from './workbench'

/** A trace larger than this is left out: the commit must go through. */
const traceBytesMax = 512 * 1024

/** COMMIT, then wake who waits. */
export async function commit(
  bench: Workbench,
  effect: Extract<Effect, { type: 'commit' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = bench
  const request = composeCommit(bench)
  const answer = await deps.hub.commit(request)
  const facts = loadedFacts(bench.now().events)
  if (facts?.answer) {
    void deps.hub.announce(facts.answer.postId, {
      activationId: request.activationId,
      agent: { id: agentId, name: facts.agentName },
      doing: null,
      since: request.now,
    })
  }
  bench.doing = null
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

function composeCommit(bench: Workbench): CommitRequest {
  const { state, events } = bench.now()
  const { activationId, ending } = state
  if (!activationId || !ending) throw new Error('a commit without an ending')
  const facts = loadedFacts(events)
  const now = bench.deps.clock.now()
  const trace = JSON.stringify(buildTrace(events, ending, now))
  return {
    agentId: bench.agentId,
    activationId,
    now,
    outcome: ending.outcome,
    error: ending.error,
    reply: composeAnswer(ending, facts, events),
    report: composeReport(state, ending, facts, events),
    iterations: state.iteration,
    usage: collectUsage(events, facts),
    tools: [
      ...new Set(events.flatMap((event) => (event.type === 'tool_returned' ? [event.name] : []))),
    ],
    counters: countEvents(events),
    audit: events.flatMap((event) =>
      event.type === 'tool_returned' && event.audit ? [event.audit as unknown as AuditEntry] : [],
    ),
    trace: trace.length > traceBytesMax ? '{}' : trace,
    model: facts?.model.id ?? 'none',
  }
}

const cutNote = '\n\n*(Cut here: a comment holds no more.)*'

function composeAnswer(
  ending: Ending,
  facts: LoadedFacts | null,
  events: LoopEvent[],
): CommitRequest['reply'] {
  const replyId = findWoken(events)?.replyId
  if (!facts?.answer || !replyId) return null
  const text = composeReply(ending, events, facts.answer.askers)
  if (text === null) return null
  const clean = text.replaceAll('\0', '').toWellFormed()
  const max = limits.comment.contentCharsMax
  const content =
    clean.length <= max ? clean : `${clean.slice(0, max - cutNote.length).toWellFormed()}${cutNote}`
  const { postId, parentId } = facts.answer
  return { id: replyId, postId, parentId, content }
}

/** The event that began the activation; it brought the ids of what the activation will write. */
const findWoken = (events: LoopEvent[]) => events.find((event) => event.type === 'woken')

/** A failure is reported without anybody's words in it (L35). */
function composeReport(
  state: LoopState,
  ending: Ending,
  facts: LoadedFacts | null,
  events: LoopEvent[],
): CommitRequest['report'] {
  const reportId = findWoken(events)?.reportId
  if (ending.outcome !== 'failed' || !ending.error || !reportId) return null
  const name = facts?.agentName ?? 'An agent'
  return {
    id: reportId,
    title: `${name} failed: ${ending.error.code}`,
    content: [
      ending.error.message,
      '',
      `Model ${facts?.model.id ?? 'none'}, ${state.iteration} steps, ${state.errors} errors. [What happened, step by step](/activations/${state.activationId})`,
    ].join('\n'),
  }
}

/** Every call that cost something or may have, numbered in the order it was known (B1, L36). */
function collectUsage(events: LoopEvent[], facts: LoadedFacts | null): Usage[] {
  const model = facts?.model.id ?? 'none'
  const executor = model.split('/')[0] ?? model
  return events
    .flatMap((event) =>
      'charge' in event && event.charge ? [{ at: event.at, charge: event.charge }] : [],
    )
    .map(({ at, charge }, index) => ({
      ...describeCharge(charge),
      call: index + 1,
      executor,
      model,
      at,
    }))
}

const describeCharge = (charge: Charge) => ({
  inputTokens: charge.inputTokens,
  cachedTokens: charge.cachedTokens,
  outputTokens: charge.outputTokens,
  reasoningTokens: charge.reasoningTokens,
  costMicrousd: charge.microusd,
  isPriced: charge.isPriced,
  isEstimated: charge.isEstimated,
  durationMs: charge.durationMs,
})
