import type { Charge, LoadedFacts, LoopEvent, LoopEventOf } from '../../../src/agents/loop/event'
import type { ModelAnswer } from '../../../src/agents/loop/message'
import { type Ending, initialState, type LoopState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { activationId, auditOf, charge, loaded, start, woken } from './events'

/** A run as its journal holds it. */
export interface RecordedRun {
  events: LoopEvent[]
  ending: Ending | null
  finishedAt: number | null
}

export interface Call {
  callId: string
  name?: string
  arguments?: string
}

type Fields<Type extends LoopEvent['type']> = Partial<Omit<LoopEventOf<Type>, 'type'>>

/** Plays a run with the real loop: outcomes of its pending effects, each at a later time. */
export class Recording implements RecordedRun {
  state: LoopState = initialState
  events: LoopEvent[] = []
  ending: Ending | null = null
  finishedAt: number | null = null
  at = start

  apply(event: LoopEvent): this {
    const next = step(this.state, event)
    if (next.state === this.state) throw new Error(`${event.type} changes nothing`)
    this.events.push(event)
    this.state = next.state
    this.ending = next.state.ending ?? this.ending
    return this
  }

  wake(): this {
    return this.apply(woken(this.at))
  }

  load(facts: Partial<LoadedFacts> = {}, ms = 40): this {
    const limits = { iterations: 6, tokens: 20_000, durationMs: 60_000, contextTokens: 100_000 }
    const session = { id: 'general_post', task: 'asked', gist: 'gist' }
    const effectId = this.only('load')
    const event = loaded(this.pass(ms), { limits, session, ...facts })
    return this.apply({ ...event, effectId } as LoopEvent)
  }

  /** Wakes and loads. */
  begin(facts: Partial<LoadedFacts> = {}): this {
    return this.wake().load(facts)
  }

  answer(
    answer: Partial<Omit<ModelAnswer, 'calls'>> & { calls?: Call[] } = {},
    {
      charge: cost,
      ms = 900,
      ...over
    }: Omit<Fields<'model_answered'>, 'charge'> & ChargeField & { ms?: number } = {},
  ): this {
    const calls = (answer.calls ?? []).map((call) => ({
      name: 'hub_search',
      arguments: `{"query":"${call.callId}"}`,
      ...call,
    }))
    const startedAt = this.pass(5)
    return this.apply({
      type: 'model_answered',
      effectId: this.only('call_model'),
      startedAt,
      at: this.pass(ms),
      answer: {
        text: calls.length > 0 ? '' : 'The herons came in March.',
        reasoning: '',
        finish: calls.length > 0 ? 'tool-calls' : 'stop',
        usage: null,
        ...answer,
        calls,
      },
      charge: charge({ durationMs: ms, ...cost }),
      calls: calls.map(({ callId }) => ({ callId, isSequential: false })),
      ...over,
    })
  }

  fail(
    over: Partial<LoopEventOf<'model_failed'>['failure']> = {},
    cost: Charge | null = null,
  ): this {
    const startedAt = this.pass(5)
    return this.apply({
      type: 'model_failed',
      effectId: this.only('call_model'),
      startedAt,
      at: this.pass(120),
      failure: {
        code: 'PROVIDER_BUSY',
        message: 'Too many requests.',
        isRetryable: true,
        retryAfterMs: null,
        mayBeCharged: cost !== null,
        ...over,
      },
      charge: cost,
      jitter: 0.5,
    })
  }

  refuse(reason: LoopEventOf<'model_refused'>['reason']): this {
    const effectId = this.only('call_model')
    return this.apply({ type: 'model_refused', at: this.pass(9), effectId, reason })
  }

  sleep(): this {
    const effect = this.state.pending.find(({ type }) => type === 'sleep')
    if (effect?.type !== 'sleep') throw new Error('not asleep')
    this.at = Math.max(this.at, effect.until)
    return this.apply({ type: 'slept', at: this.at, effectId: effect.id })
  }

  tool(callId: string, { ms = 30, ...over }: Fields<'tool_returned'> & { ms?: number } = {}): this {
    const name = over.name ?? 'hub_search'
    const text = over.text ?? `Found ${callId}.`
    return this.apply({
      type: 'tool_returned',
      effectId: this.callEffect(callId),
      startedAt: this.pass(2),
      at: this.pass(ms),
      callId,
      name,
      text,
      isError: false,
      durationMs: ms,
      resultBytes: text.length,
      audit: auditOf(callId, { tool: name }),
      ...over,
    })
  }

  parkTool(callId: string, name = 'hub_create_post'): this {
    return this.apply({
      type: 'tool_parked',
      effectId: this.callEffect(callId),
      callId,
      name,
      startedAt: this.pass(2),
      at: this.pass(8),
      approval: {
        callId,
        tool: name,
        grant: 'hub:write',
        tier: 'write',
        arguments: '{"title":"Herons"}',
        argumentsHash: 'hash',
      },
      audit: null,
    })
  }

  park(): this {
    const effectId = this.only('park')
    return this.apply({
      type: 'parked',
      at: this.pass(11),
      effectId,
      kind: 'parked',
      hasMore: false,
    })
  }

  resume(
    decisions: { callId: string; decision?: 'approved' | 'denied' | 'expired'; note?: string }[],
    over: Fields<'resumed'> = {},
  ): this {
    return this.apply({
      type: 'resumed',
      at: this.pass(90_000),
      activationId,
      admission: 'granted',
      decisions: decisions.map((each) => ({
        decision: 'approved',
        by: 'tomas',
        note: '',
        ...each,
      })),
      isCancelled: false,
      nextEffectId: 20,
      ...over,
    })
  }

  compact(over: Fields<'compacted'> = {}): this {
    return this.apply({
      type: 'compacted',
      effectId: this.only('compact'),
      startedAt: this.pass(3),
      at: this.pass(400),
      summary: 'They spoke of herons.',
      replaced: 2,
      tokensBefore: this.state.promptTokens,
      tokens: 90,
      entries: 2,
      charge: charge({ microusd: 80, durationMs: 400 }),
      problem: null,
      ...over,
    })
  }

  stop(type: 'cancel_requested' | 'time_ran_out', cost: Charge | null = null, ms = 700): this {
    return this.apply({ type, at: this.pass(ms), charge: cost })
  }

  crash(unknownCallIds: string[] = [], cost: Charge | null = null): this {
    const isEnded = this.state.ending ? { isEnded: true } : {}
    return this.apply({
      type: 'interrupted',
      at: this.pass(4_000),
      unknownCallIds,
      charge: cost,
      ...isEnded,
    })
  }

  failCommit(): this {
    const effectId = this.only('commit')
    return this.apply({
      type: 'commit_failed',
      at: this.pass(50),
      effectId,
      message: 'away',
      jitter: 0.5,
    })
  }

  /** The hub stores the run: its trace is made before the answer of the commit. */
  commit(): this {
    const effectId = this.only('commit')
    this.finishedAt = this.pass(6)
    return this.apply({
      type: 'committed',
      at: this.pass(4),
      effectId,
      kind: 'done',
      hasMore: false,
    })
  }

  only(type: LoopState['pending'][number]['type']): number {
    const found = this.state.pending.filter((effect) => effect.type === type)
    if (found.length !== 1 || !found[0])
      throw new Error(`expected one ${type}: ${JSON.stringify(this.state.pending)}`)
    return found[0].id
  }

  callEffect(callId: string): number {
    const effect = this.state.pending.find(
      (each) => each.type === 'call_tool' && each.callId === callId,
    )
    if (!effect) throw new Error(`${callId} is not running`)
    return effect.id
  }

  pass(ms: number): number {
    this.at += ms
    return this.at
  }
}

interface ChargeField {
  charge?: Partial<Charge>
}
