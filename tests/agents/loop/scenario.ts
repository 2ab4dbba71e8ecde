import type { LoadedFacts, LoopEvent, LoopEventOf } from '../../../src/agents/loop/event'
import type { FinishReason, Outage } from '../../../src/agents/loop/message'
import { initialState, type LoopState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import type { ApprovalDecision } from '../../../src/hub/contract/hub'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'

export const charge = (tokens = 10) => ({
  inputTokens: tokens,
  cachedTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  microusd: 7,
  isPriced: true,
  isEstimated: false,
  durationMs: 3,
})

export const facts = (over: Partial<LoadedFacts> = {}): LoadedFacts => ({
  task: 'mention',
  admission: 'granted',
  reservation: { microusd: 1_000, tokens: 1_000 },
  isPriced: true,
  limits: { iterations: 4, tokens: 1_000, durationMs: 60_000, contextTokens: 8_000 },
  prompt: [
    { role: 'system', text: 'soul' },
    { role: 'user', text: 'task' },
  ],
  historyFrom: 1,
  promptTokens: 10,
  agentName: 'scout',
  model: { id: 'test/one', isOffline: false, substitutedFor: null },
  definition: { version: 1, etag: 'e' },
  answer: { postId: 'post' as PostId, parentId: null, requesters: ['mira'] },
  problem: null,
  ...over,
})

export const woken = (at = 1): LoopEvent => ({
  type: 'woken',
  at,
  activationId: 'activation' as ActivationId,
  replyId: 'reply' as CommentId,
  reportId: 'report' as PostId,
})

export const parked = (effectId: number, callId: string, at: number): LoopEvent => ({
  type: 'tool_parked',
  at,
  effectId,
  callId,
  name: 'hub_create_post',
  startedAt: at,
  approval: {
    callId,
    tool: 'hub_create_post',
    grant: 'hub:write',
    tier: 'write',
    arguments: '{"title":"x"}',
    argumentsHash: 'hash',
  },
  audit: null,
})

export const resumed = (
  decisions: Partial<ApprovalDecision>[],
  at: number,
  over: Partial<Omit<LoopEventOf<'resumed'>, 'type' | 'decisions'>> = {},
): LoopEvent => ({
  type: 'resumed',
  at,
  activationId: 'activation' as ActivationId,
  admission: 'granted',
  decisions: decisions.map((each) => ({
    callId: '',
    decision: 'approved',
    by: 'tomas',
    note: '',
    ...each,
  })),
  isCancelled: false,
  nextEffectId: 1,
  ...over,
})

/** Drives the loop with outcomes of whatever effect is pending, and keeps the journal. */
export class Scenario {
  state: LoopState = initialState
  events: LoopEvent[] = []
  at = 1

  apply(event: LoopEvent): void {
    const next = step(this.state, event)
    if (next.state !== this.state) this.events.push(event)
    this.state = next.state
  }

  wake(): this {
    this.apply(woken(this.at++))
    return this
  }

  load(over: Partial<LoadedFacts> = {}): this {
    this.apply({ type: 'loaded', at: this.at++, effectId: this.only('load'), facts: facts(over) })
    return this
  }

  answer(
    text: string,
    callIds: string[] = [],
    finish: FinishReason = callIds.length ? 'tool-calls' : 'stop',
    tokens = 10,
  ): this {
    this.apply({
      type: 'model_answered',
      at: this.at++,
      effectId: this.only('call_model'),
      startedAt: this.at,
      answer: {
        text,
        reasoning: '',
        calls: callIds.map((callId) => ({ callId, name: 'hub_search', arguments: '{}' })),
        finish,
        usage: null,
      },
      charge: charge(tokens),
      calls: callIds.map((callId) => ({ callId, isSequential: callId.startsWith('seq') })),
    })
    return this
  }

  failModel(
    over: {
      isRetryable?: boolean
      code?: 'PROVIDER_BUSY' | 'PROVIDER_AUTH'
      retryAfterMs?: number
      outage?: Outage
      isPermanent?: boolean
    } = {},
  ): this {
    this.apply({
      type: 'model_failed',
      at: this.at++,
      effectId: this.only('call_model'),
      startedAt: this.at,
      failure: {
        code: over.code ?? 'PROVIDER_BUSY',
        message: 'busy',
        isRetryable: over.isRetryable ?? true,
        retryAfterMs: over.retryAfterMs ?? null,
        mayBeCharged: false,
        ...(over.outage && { outage: over.outage }),
        ...(over.isPermanent && { isPermanent: true }),
      },
      charge: null,
      jitter: 1,
    })
    return this
  }

  sleep(): this {
    const sleep = this.state.pending.find(({ type }) => type === 'sleep')
    if (sleep?.type !== 'sleep') throw new Error('not asleep')
    this.at = sleep.until
    this.apply({ type: 'slept', at: this.at, effectId: sleep.id })
    return this
  }

  returnTool(callId: string): this {
    const effect = this.state.pending.find(
      (each) => each.type === 'call_tool' && each.callId === callId,
    )
    if (!effect) throw new Error(`${callId} is not running`)
    this.apply({
      type: 'tool_returned',
      at: this.at++,
      effectId: effect.id,
      callId,
      name: 'hub_search',
      text: `result of ${callId}`,
      isError: false,
      startedAt: 1,
      durationMs: 1,
      resultBytes: 5,
      audit: null,
    })
    return this
  }

  /** The gateway requires approval for the call. */
  parkTool(callId: string): this {
    const effect = this.state.pending.find(
      (each) => each.type === 'call_tool' && each.callId === callId,
    )
    if (!effect) throw new Error(`${callId} is not running`)
    this.apply(parked(effect.id, callId, this.at++))
    return this
  }

  /** The hub stored the approvals. */
  park(kind: 'parked' | 'lost' = 'parked', hasMore = false): this {
    this.apply({ type: 'parked', at: this.at++, effectId: this.only('park'), kind, hasMore })
    return this
  }

  resume(
    decisions: Partial<ApprovalDecision>[],
    over: Partial<Omit<LoopEventOf<'resumed'>, 'type' | 'decisions'>> = {},
  ): this {
    this.apply(resumed(decisions, this.at++, over))
    return this
  }

  compact(over: Partial<LoopEventOf<'compacted'>> = {}): this {
    this.apply({
      type: 'compacted',
      at: this.at++,
      effectId: this.only('compact'),
      startedAt: this.at,
      summary: 'what was said before',
      replaced: 2,
      tokensBefore: this.state.promptTokens,
      tokens: 100,
      entries: 3,
      charge: charge(),
      problem: null,
      ...over,
    })
    return this
  }

  commit(hasMore = false): this {
    this.apply({
      type: 'committed',
      at: this.at++,
      effectId: this.only('commit'),
      kind: 'done',
      hasMore,
    })
    return this
  }

  only(type: LoopState['pending'][number]['type']): number {
    const found = this.state.pending.filter((effect) => effect.type === type)
    if (found.length !== 1 || !found[0])
      throw new Error(`expected one ${type}: ${JSON.stringify(this.state.pending)}`)
    return found[0].id
  }

  pendingTypes(): string[] {
    return this.state.pending.map(({ type }) => type)
  }

  runningCalls(): string[] {
    return this.state.pending.flatMap((effect) =>
      effect.type === 'call_tool' ? [effect.callId] : [],
    )
  }
}
