import type { AccountId } from '../../ids'
import type { AgentDeps } from '../agent-deps'
import type { ActivationStream } from '../live/activation-stream'
import type { Effect } from '../loop/effect'
import type { Charge, LoadedFacts, LoopEvent } from '../loop/event'
import type { Journal } from '../storage/journal'
import type { MemoryStore } from '../storage/memory-store'
import { callModel } from './call-model'
import { callTool, failCall } from './call-tool'
import { commit } from './commit'
import { compact } from './compact'
import { load } from './load'
import { park } from './park'
import { readSkill } from './read-skill'
import { findCall, loadedFacts, type Now, type Workbench } from './workbench'

/**
 * Performs effects and tells what came of them. Whatever fails outside becomes an event:
 * `describeFailure` is the one place where the room turns exceptions into data.
 */
export class EffectRunner {
  readonly #bench: Workbench

  constructor(
    deps: AgentDeps,
    journal: Journal,
    memory: MemoryStore,
    stream: ActivationStream,
    now: () => Now,
    agentId: AccountId | null,
  ) {
    this.#bench = {
      deps,
      journal,
      memory,
      stream,
      now,
      agentId: agentId ?? ('' as AccountId),
      definition: null,
      grants: null,
      doing: null,
      waitReason: null,
      sent: null,
      storage: null,
      first: null,
      prompt: null,
    }
  }

  /** Alarms do not bring the name of their object, so it is kept. */
  identify(agentId: AccountId): void {
    if (this.#bench.agentId === agentId) return
    this.#bench.agentId = agentId
    this.#bench.journal.keepOwner({ agentId })
  }

  /** The activation is over. */
  forget(): void {
    Object.assign(this.#bench, { grants: null, sent: null, first: null, prompt: null })
  }

  get doing(): string | null {
    return this.#bench.doing
  }

  get waitReason(): string | null {
    return this.#bench.waitReason
  }

  readSkill(name: string): Promise<string | null> {
    return readSkill(this.#bench, name)
  }

  /** Null when the effect was dropped meanwhile. Rejects with what `describeFailure` takes. */
  run(effect: Effect, signal: AbortSignal): Promise<LoopEvent | null> {
    switch (effect.type) {
      case 'load':
        return load(this.#bench, effect)
      case 'call_model':
        return callModel(this.#bench, effect, signal)
      case 'call_tool':
        return callTool(this.#bench, effect, signal)
      case 'compact':
        return compact(this.#bench, effect, signal)
      case 'park':
        return park(this.#bench, effect)
      case 'commit':
        return commit(this.#bench, effect)
      case 'sleep':
        return sleep(this.#bench, effect, signal)
    }
  }

  /** An effect that broke in a way nobody expected. The cause stays private. */
  describeFailure(effect: Effect, error: unknown): LoopEvent {
    const { deps } = this.#bench
    const base = { at: deps.clock.now(), effectId: effect.id }
    const detail = error instanceof Error ? error.name : 'error'
    const message = `Something inside the hub went wrong (${detail}).`
    switch (effect.type) {
      case 'load':
        return { ...base, type: 'load_failed', code: 'HUB_UNREACHABLE', message, isHopeless: false }
      case 'call_model':
      case 'compact': {
        const failure = {
          code: 'HUB_UNREACHABLE',
          message,
          isRetryable: true,
          retryAfterMs: null,
          mayBeCharged: true,
        } as const
        const charge = this.worstOfSent()
        return {
          ...base,
          type: 'model_failed',
          startedAt: base.at,
          failure,
          charge,
          jitter: deps.random(),
        }
      }
      case 'call_tool':
        return failCall({ callId: effect.callId, name: '' }, effect.id, base.at, message)
      case 'park':
        return { ...base, type: 'park_failed', message, jitter: deps.random() }
      case 'commit':
        return { ...base, type: 'commit_failed', message, jitter: deps.random() }
      case 'sleep':
        return { ...base, type: 'slept' }
    }
  }

  /**
   * What the model call under way is charged if it is cut off now; null when none was sent. Only after
   * a crash that is not known: a first call follows its row at once, so it counts as sent, with the
   * most it can take.
   */
  worstOfSent(isAfterCrash = false): Charge | null {
    const { journal, now, sent } = this.#bench
    const pending = now().state.pending.find((effect) => 'mustRenew' in effect)
    if (!pending || !('mustRenew' in pending)) return null
    if (sent?.effectId === pending.id) return sent.worst
    if (!isAfterCrash) return null
    const { events } = now()
    const marked = journal.readSent()
    if (marked?.effectId === pending.id) {
      // an interruption after the mark has charged it; it was not sent again
      const interrupted = events.findLastIndex(({ type }) => type === 'interrupted')
      return interrupted < marked.rows ? marked.worst : null
    }
    const facts = loadedFacts(events)
    return pending.mustRenew || !facts ? null : chargeFirstCall(facts)
  }

  /** What a crash left open: facts for `step`, which decides. */
  describeInterruption(): LoopEvent {
    const { state } = this.#bench.now()
    const unknownCallIds = state.pending.flatMap((effect) =>
      effect.type === 'call_tool' && !this.#canRepeat(effect.callId) ? [effect.callId] : [],
    )
    return {
      type: 'interrupted',
      at: this.#bench.deps.clock.now(),
      unknownCallIds,
      charge: this.worstOfSent(true),
      ...(state.ending ? { isEnded: true } : {}),
    }
  }

  #canRepeat(callId: string): boolean {
    const name = findCall(this.#bench.now().events, callId)?.name
    return this.#bench.deps.tools.describe(name ?? '')?.isIdempotent ?? true
  }
}

const chargeFirstCall = ({
  reservation,
  isPriced,
  firstCall = reservation,
}: LoadedFacts): Charge => ({
  inputTokens: Math.min(reservation.tokens, firstCall.tokens),
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  microusd: Math.min(reservation.microusd, firstCall.microusd),
  isPriced,
  isEstimated: true,
  durationMs: 0,
})

async function sleep(
  { deps }: Workbench,
  effect: Extract<Effect, { type: 'sleep' }>,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const wait = effect.until - deps.clock.now()
  if (wait > 0) await scheduler.wait(wait, { signal }).catch(() => undefined)
  if (signal.aborted) return null
  return { type: 'slept', at: deps.clock.now(), effectId: effect.id }
}
