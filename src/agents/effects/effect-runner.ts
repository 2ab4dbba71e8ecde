import type { AccountId } from '../../shared/ids'
import type { Charge, LoadedFacts, LoopEvent, StoppedCall } from '../loop/event'
import type { Effect } from '../loop/state'
import type { MemoryStore } from '../memory/memory-store'
import type { ActivationStream } from '../run/live-stream'
import type { Journal } from '../storage/journal'
import { callModel } from './call-model'
import { callTool, failCall, readSkill } from './call-tool'
import { commit, park, steer } from './commit'
import { compact } from './compact'
import {
  type ActivationSnapshot,
  type AgentDeps,
  type EffectContext,
  findCall,
  findLoadedFacts,
} from './effect-context'
import { load } from './load'
import { ProgramDesk } from './program-desk'
import { chargeOpen, closeProgram, notifyNobody, runProgram } from './run-program'

/**
 * Performs effects and returns their outcome as events. `describeFailure` turns exceptions into
 * events, and is the only place that does.
 */
export class EffectRunner {
  readonly #context: EffectContext

  constructor(
    deps: AgentDeps,
    journal: Journal,
    memory: MemoryStore,
    stream: ActivationStream,
    now: () => ActivationSnapshot,
    agentId: AccountId | null,
  ) {
    this.#context = {
      deps,
      journal,
      memory,
      stream,
      getActivation: now,
      agentId: agentId ?? ('' as AccountId),
      definition: null,
      hubSnapshot: null,
      connections: null,
      doing: null,
      waitReason: null,
      sentCall: null,
      inFlight: null,
      ratios: null,
      storageSize: null,
      fileUse: null,
      firstPrompt: null,
      lastTools: null,
      lastPrompt: null,
      images: new Map(),
      programText: null,
    }
  }

  /** Stores the id of the agent, because an alarm does not carry the name of its object. */
  identify(agentId: AccountId): void {
    if (this.#context.agentId === agentId) return
    this.#context.agentId = agentId
    this.#context.journal.saveOwner({ agentId })
  }

  /** Clears what belongs to an ended activation. */
  clearActivation(): void {
    this.#context.hubSnapshot = null
    this.#context.connections = null
    this.#context.sentCall = null
    this.#context.inFlight = null
    this.#context.firstPrompt = null
    this.#context.lastTools = null
    this.#context.lastPrompt = null
    this.#context.images.clear()
    this.#context.programText = null
  }

  /** Creates what runners and the model gateway talk to. @param apply passes an event to the loop */
  createDesk(apply: (event: LoopEvent) => void): ProgramDesk {
    return new ProgramDesk(this.#context, apply)
  }

  get agentId(): AccountId {
    return this.#context.agentId
  }

  get doing(): string | null {
    return this.#context.doing
  }

  get waitReason(): string | null {
    return this.#context.waitReason
  }

  readSkill(name: string): Promise<string | null> {
    return readSkill(this.#context, name)
  }

  /**
   * Performs an effect. Null when it was cancelled meanwhile. Rejects with errors for
   * `describeFailure`.
   */
  run(effect: Effect, signal: AbortSignal): Promise<LoopEvent | null> {
    switch (effect.type) {
      case 'load':
        return load(this.#context, effect)
      case 'call_model':
        return callModel(this.#context, effect, signal)
      case 'call_tool':
        return callTool(this.#context, effect, signal)
      case 'compact':
        return compact(this.#context, effect, signal)
      case 'steer':
        return steer(this.#context, effect)
      case 'park':
        return park(this.#context, effect)
      case 'commit':
        return commit(this.#context, effect)
      case 'run_program':
        return runProgram(this.#context, effect)
      case 'close_program':
        return closeProgram(this.#context, effect, signal)
      case 'notify_nobody':
        return notifyNobody(this.#context, effect)
      case 'sleep':
        return sleep(this.#context, effect, signal)
    }
  }

  /**
   * Returns the event for an effect that failed unexpectedly. The cause is not included: the
   * message is public.
   */
  toFailureEvent(effect: Effect, error: unknown): LoopEvent {
    const { deps } = this.#context
    const base = { at: deps.clock.now(), effectId: effect.id }
    const detail = error instanceof Error ? error.name : 'error'
    const message = `An internal error of the hub occurred (${detail}).`
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
        const charge = this.#worstChargeInFlight()
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
      case 'steer':
        // what joins is delivered after the commit
        return { ...base, type: 'steered', items: [] }
      case 'park':
        return { ...base, type: 'park_failed', message, jitter: deps.random() }
      case 'commit':
        return { ...base, type: 'commit_failed', message, jitter: deps.random() }
      case 'run_program':
        return {
          type: 'program_placed',
          at: base.at,
          attempt: effect.attempt,
          kind: 'unreachable',
        }
      case 'close_program':
        return { ...base, type: 'program_closed', ...chargeOpen(this.#context) }
      case 'notify_nobody':
        return { ...base, type: 'nobody_notified' }
      case 'sleep':
        return { ...base, type: 'slept' }
    }
  }

  /** Returns what is charged for the model call in flight if it is stopped now, and what it has written. */
  measureCallInFlight(): StoppedCall {
    const { inFlight, getActivation: now } = this.#context
    const isPending = now().state.pending.some(({ id }) => id === inFlight?.effectId)
    if (!inFlight || !isPending) return { charge: null }
    const { text } = inFlight
    return { charge: inFlight.measure(), ...(text.trim() !== '' && { text }) }
  }

  /**
   * Returns the worst-case charge of the model call in flight; null when none was sent. After a
   * crash it is unknown whether a first call was sent, so it counts as sent.
   */
  #worstChargeInFlight(isAfterCrash = false): Charge | null {
    const { journal, getActivation: now, sentCall: sent } = this.#context
    const pending = now().state.pending.find((effect) => 'mustRenew' in effect)
    if (!pending || !('mustRenew' in pending)) return null
    if (sent?.effectId === pending.id) return sent.worst
    if (!isAfterCrash) return null
    const { events } = now()
    const marked = journal.readSentCall()
    if (marked?.effectId === pending.id) {
      // an interruption after the mark has already charged the call, which was not sent again
      const interrupted = events.findLastIndex(({ type }) => type === 'interrupted')
      return interrupted < marked.rows ? marked.worst : null
    }
    const facts = findLoadedFacts(events)
    return pending.mustRenew || !facts ? null : chargeFirstCall(facts)
  }

  /**
   * Returns the event for a crash: the tool calls that must not be repeated and the charge of a
   * lost model call. `step` decides.
   */
  toInterruptedEvent(isSetAside: boolean): LoopEvent {
    const { state } = this.#context.getActivation()
    const unknownCallIds = state.pending.flatMap((effect) =>
      effect.type === 'call_tool' && (isSetAside || !this.#canRepeat(effect.callId))
        ? [effect.callId]
        : [],
    )
    return {
      type: 'interrupted',
      at: this.#context.deps.clock.now(),
      unknownCallIds,
      charge: this.#worstChargeInFlight(true),
      ...(isSetAside ? { isSetAside } : state.ending ? { isEnded: true } : {}),
    }
  }

  #canRepeat(callId: string): boolean {
    const name = findCall(this.#context.getActivation().events, callId)?.name
    return this.#context.deps.tools.describe(name ?? '')?.isIdempotent ?? true
  }
}

/** Returns the worst-case charge of a first model call, from the facts of LOAD. */
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
  { deps }: EffectContext,
  effect: Extract<Effect, { type: 'sleep' }>,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const wait = effect.until - deps.clock.now()
  if (wait > 0) await scheduler.wait(wait, { signal }).catch(() => undefined)
  if (signal.aborted) return null
  return { type: 'slept', at: deps.clock.now(), effectId: effect.id }
}
