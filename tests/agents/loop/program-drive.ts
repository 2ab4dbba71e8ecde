import fc from 'fast-check'
import { expect } from 'vitest'
import type { LoopEvent, StoredReport } from '../../../src/agents/loop/event'
import { initialState, type LoopState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { charge, facts, woken } from './scenario'

const worst = { ...charge(50), outputTokens: 50, microusd: 100, isEstimated: true }
const limits = { iterations: 6, tokens: 1_000, durationMs: 60_000, contextTokens: 8_000 }
const ends = ['end_turn', 'max_tokens', 'refusal', 'error', 'no_tools', 'lost', 'silent'] as const
const finishes = ['stop', 'tool-calls', 'length', 'content-filter', 'error', 'cancelled'] as const
const reasons = ['budget_exhausted', 'max_iterations', 'paused', 'lost', 'no_tools'] as const

const pick = <Each>(list: readonly Each[], choice: number): Each =>
  list[choice % list.length] ?? (list[0] as Each)

function reportOf(choice: number): StoredReport {
  if (choice % 5 === 0) {
    const end = pick(ends, choice / 5)
    const base = { kind: 'ended', end, detail: null, session_id: 's', changes: null } as const
    return { ...base, is_success: choice % 3 > 0, answer: choice % 4 === 0 ? '' : 'Nine.' }
  }
  if (choice % 5 === 1) {
    const is_resumed = choice % 2 === 0
    return { kind: 'started', version: '1', session_id: 's', is_resumed }
  }
  return { kind: 'text', text: `text ${choice}` }
}

/** Returns what the program, its runner or the model gateway does next; often something that no longer fits. */
function happen(state: LoopState, kind: number, choice: number, at: number): LoopEvent {
  const program = state.program
  const attempt = (program?.attempt ?? 1) - (choice % 13 === 0 ? 1 : 0)
  const open = program?.open[choice % Math.max(1, program.open.length)]
  switch (kind) {
    case 0:
      return { type: 'tools_listed', at, attempt }
    case 1:
    case 2: {
      const request = (program?.requests ?? 0) + (choice % 11 === 0 ? 0 : 1)
      return {
        type: 'request_admitted',
        at,
        attempt,
        request,
        protocol: 'openai-chat',
        worst,
        ...(choice % 4 === 3 && { isAside: true }),
      }
    }
    case 3:
    case 4: {
      const base = { request: open?.request ?? 1, startedAt: at, status: 200, usage: null } as const
      const settled = choice % 6 === 0 ? null : charge(20)
      const finish = pick(finishes, choice)
      return { type: 'request_settled', at, ...base, finish, charge: settled, problem: null }
    }
    case 5: {
      const first = (program?.reports ?? 0) + (choice % 17 === 0 ? 0 : 1)
      return { type: 'program_reported', at, attempt, first, reports: [reportOf(choice)] }
    }
    case 6: {
      const call = { callId: `c${choice % 20}`, name: 'act', arguments: '{}' }
      return { type: 'program_called', at, attempt, ...call, isWrite: choice % 2 === 0 }
    }
    case 7: {
      const callId = program?.calls[0]?.callId ?? 'c1'
      const base = { callId, startedAt: at, durationMs: 1, text: 'done', isError: false }
      const more = { resultBytes: 4, grant: null, decision: 'allowed' }
      return { type: 'program_call_returned', at, ...base, ...more }
    }
    case 8:
      return { type: 'program_lost', at, attempt, reason: 'gone' }
    case 9: {
      const place = pick(['started', 'busy', 'nobody', 'unreachable'] as const, choice)
      return { type: 'program_placed', at, attempt, kind: place }
    }
    case 11:
      return wait(state, choice, at, attempt)
    default:
      return disturb(choice, at, attempt)
  }
}

/** A call waits for an approval, is decided in time, or waits for too long. */
function wait(state: LoopState, choice: number, at: number, attempt: number): LoopEvent {
  const calls = state.program?.calls ?? []
  const { callId } = calls[choice % Math.max(1, calls.length)] ?? { callId: 'c1' }
  if (choice % 5 === 0) return { type: 'program_call_decided', at, attempt, callId }
  if (choice % 5 === 1) return { type: 'approval_overdue', at, attempt }
  const base = { callId, tool: 'act', grant: 'g', tier: 'write', arguments: '{}' } as const
  const approval = { ...base, argumentsHash: 'h' }
  return { type: 'program_call_waits', at, attempt, callId, approval, until: at + (choice % 9) }
}

function disturb(choice: number, at: number, attempt: number): LoopEvent {
  if (choice % 7 === 0) return { type: 'cancel_requested', at, charge: null }
  if (choice % 7 === 1) return { type: 'time_ran_out', at, charge: null }
  if (choice % 7 === 2)
    return { type: 'request_refused', at, attempt, reason: pick(reasons, choice) }
  return { ...woken(at), maySteer: true } as LoopEvent
}

/** Returns the outcome of a pending effect whose work is done here. */
function finish(state: LoopState, at: number, joins: boolean): LoopEvent | null {
  const effect = state.pending.find(({ type }) => type !== 'run_program')
  if (!effect) return null
  const base = { at, effectId: effect.id }
  switch (effect.type) {
    case 'close_program': {
      const open = state.program?.open ?? []
      const sum = { ...worst, inputTokens: 50 * open.length, outputTokens: 50 * open.length }
      const lost = open.length > 0 ? { ...sum, microusd: 100 * open.length } : null
      const requests = open.map(({ request }) => request)
      return { ...base, type: 'program_closed', requests, charge: lost }
    }
    case 'notify_nobody':
      return { ...base, type: 'nobody_notified' }
    case 'steer': {
      const from = { id: 'm' as never, name: 'mira', kind: 'human' } as const
      const more = { commentId: null, isModeration: false, isUntrusted: false }
      const item = { id: `i${at}` as never, from, text: 'and storks', ...more }
      return { ...base, type: 'steered', items: joins ? [item] : [] }
    }
    case 'commit':
      return { ...base, type: 'committed', kind: 'done', hasMore: false }
    case 'park':
      return { ...base, type: 'parked', kind: 'parked', hasMore: false }
    case 'call_tool': {
      const { callId } = effect
      const more = { startedAt: at, durationMs: 1, resultBytes: 4, audit: null }
      return {
        ...base,
        type: 'tool_returned',
        callId,
        name: 'act',
        text: 'did',
        isError: false,
        ...more,
      }
    }
    default:
      throw new Error(`unexpected ${effect.type}`)
  }
}

/** People decide about a parked run: they approve, deny, or stop it. */
function decideParked(state: LoopState, choice: number, at: number): LoopEvent {
  const decision = choice % 4 === 0 ? 'denied' : 'approved'
  const base = { by: 'tomas', note: '', decision } as const
  return {
    type: 'resumed',
    at,
    activationId: state.activationId ?? ('a' as never),
    admission: choice % 11 === 0 ? 'budget_exhausted' : 'granted',
    decisions: state.calls.map(({ callId }) => ({ ...base, callId })),
    isCancelled: choice % 13 === 0,
    nextEffectId: state.nextEffectId,
  }
}

function choose(state: LoopState, kind: number, choice: number, at: number): LoopEvent {
  // the work of the agent's own machine is done now and then
  const own = choice % 3 === 0 ? finish(state, at, choice % 2 === 0) : null
  if (own) return own
  const event = happen(state, kind, choice, at)
  // what wakes the agent while a run is parked belongs to another run
  const isDecided = state.phase === 'parked' && (choice % 2 === 0 || event.type === 'woken')
  return isDecided ? decideParked(state, choice, at) : event
}

/** Runs a program through events in any order, then to the end of its run. */
export function drive(choices: readonly (readonly [number, number])[]): LoopEvent[] {
  let state = initialState
  const events: LoopEvent[] = []
  const apply = (event: LoopEvent) => {
    const next = step(state, event)
    if (next.state !== state) events.push(event)
    state = next.state
  }
  apply(woken())
  const program = { type: 'goose', takesTools: true } as const
  apply({ type: 'loaded', at: 2, effectId: 1, facts: facts({ limits, program }) })
  let at = 3
  for (const [kind, choice] of choices) {
    if (state.phase === 'idle') return events
    at += kind === 9 ? 40_000 : 1
    const event = choose(state, kind, choice, at)
    apply(event)
    // everything may arrive twice, but a wake-up is never the same
    if (choice % 4 === 0 && event.type !== 'woken') apply(event)
  }
  apply({ type: 'time_ran_out', at: at + limits.durationMs, charge: null })
  for (let left = 30; left > 0 && state.phase !== 'idle'; left--) {
    const end = at + limits.durationMs
    const own = state.phase === 'parked' ? decideParked(state, 1, end) : finish(state, end, false)
    apply(own ?? { type: 'time_ran_out', at: state.endsAt, charge: null })
  }
  expect(state.phase).toBe('idle')
  return events
}

/** A whole turn, which no chance would meet often: tools listed, a request, a hint that a comment joins, the end. */
const goodTurn: [number, number][] = [
  [0, 1],
  [1, 1],
  [3, 6],
  [10, 3],
  [5, 35],
]

/** A write waits for an approval until its run parks. */
const parking: [number, number][] = [
  [6, 4],
  [11, 2],
  [11, 18],
  [11, 19],
  [11, 1],
  [11, 6],
]

const one = fc.tuple(fc.nat({ max: 11 }), fc.nat({ max: 1_000 }))
export const choices = fc
  .array(
    fc.oneof(
      { weight: 12, arbitrary: one.map((each) => [each]) },
      { weight: 1, arbitrary: fc.constant(goodTurn) },
      { weight: 1, arbitrary: fc.constant(parking) },
    ),
    { minLength: 1, maxLength: 60 },
  )
  .map((list) => list.flat())
