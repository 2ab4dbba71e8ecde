import {
  type EffectContext,
  findRatio,
  recordCount,
} from '../../../src/agents/effects/effect-context'
import {
  type CallPlan,
  estimateWideTokens,
  measurePromptSize,
  toCharge,
  worstCaseReservation,
} from '../../../src/agents/effects/price-call'
import { reserveCall } from '../../../src/agents/effects/reserve-call'
import type { Charge } from '../../../src/agents/loop/event'
import type { Usage } from '../../../src/hub/contract/hub'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import type { SpendingWorld } from './spending-world'

export const prices = { input: 1_000_000, cached: 1_000_000, output: 5_000_000 }
export const outputTokensMax = 1_000

/** A call of a run: characters of its prompt, and what the provider counts. */
export interface ScriptedCall {
  chars: number
  /** Counted input tokens for each estimated one. */
  countedShare: number
  /** Of the allowed output. */
  outputShare: number
}

/**
 * A run that makes its calls through the product's reservation and charging, on the real D1; only the
 * provider's answer is scripted. `work` goes as far as it can and is called again after a wait.
 */
export class CallRunner {
  readonly charges: Charge[] = []
  isDone = false
  wasRefused = false
  /** Right after the refusal; below everything when there was none. */
  unspentAtRefusal = Number.NEGATIVE_INFINITY
  #activationId: ActivationId
  #model = ''
  #isWaiting = false
  readonly #context: EffectContext

  constructor(
    readonly world: SpendingWorld,
    readonly agent: { id: AccountId },
    readonly calls: ScriptedCall[],
    /** Ratios by agent, which outlive a run. */
    ratios: EffectContext['ratios'],
    /** Of the hub, per day, in micro-dollars. */
    readonly limit: number,
  ) {
    this.#activationId = world.office.newId<ActivationId>()
    const state = () => ({
      activationId: this.#activationId,
      microusd: sum(this.charges.map(({ microusd }) => microusd)),
      tokens: sum(this.charges.map(({ inputTokens, outputTokens }) => inputTokens + outputTokens)),
      settled: null,
    })
    this.#context = {
      agentId: agent.id,
      deps: { hub: world.hubApi, clock: world.hub.clock },
      journal: { readRatios: () => ({}), saveRatios: () => {} },
      hubSnapshot: null,
      ratios,
      getActivation: () => ({
        state: state(),
        events: [
          { type: 'loaded', facts: { reservedModel: this.#model } },
          ...this.charges.map((charge) => ({ type: 'model_answered', charge })),
        ],
      }),
    } as unknown as EffectContext
  }

  get ratios() {
    return this.#context.ratios
  }

  /** What the next call needs at least: its prompt and 256 tokens of answer, in micro-dollars. */
  get floor(): number {
    return worstCaseReservation(this.#plan(), 256).microusd
  }

  get spent(): number {
    return sum(this.charges.map(({ microusd }) => microusd))
  }

  async work(): Promise<void> {
    if (this.#model === '' && !(await this.#load())) return
    while (this.charges.length < this.calls.length) {
      const plan = this.#plan()
      const mustRenew = this.#isWaiting || this.charges.length > 0
      const reservation = await reserveCall(this.#context, plan, { mustRenew })
      if (reservation.kind === 'refused') {
        this.#isWaiting = reservation.event.type === 'model_waited'
        if (this.#isWaiting) return
        await this.#recordRefusal()
        break
      }
      this.#isWaiting = false
      plan.request.maxOutputTokens = reservation.outputTokens
      this.#answer(plan)
    }
    await this.finish()
  }

  async finish(): Promise<void> {
    const usage = this.charges.map((charge, index): Usage => {
      const { microusd: costMicrousd, overrun: _, model = '', ...rest } = charge
      return { ...rest, costMicrousd, model, call: index + 1, at: 0 }
    })
    const floor = { microusd: this.floor, tokens: 1 }
    await this.world.office.commit(this.agent.id, this.#activationId, {
      usage,
      ...(this.wasRefused && { outcome: 'budget_exhausted' as const, refusedCall: floor }),
    })
    this.isDone = true
  }

  async #load(): Promise<boolean> {
    const answer = await this.world.office.load(this.agent.id, this.#activationId, 1_000)
    if (answer.kind === 'wait') return false
    if (answer.kind !== 'loaded') throw new Error(answer.kind)
    this.#model = answer.model
    this.#context.hubSnapshot = answer
    if (answer.admission === 'granted') return true
    await this.#recordRefusal()
    await this.finish()
    return false
  }

  /** Measures what is unspent: neither settled nor reported by a run that is still running. */
  async #recordRefusal(): Promise<void> {
    this.wasRefused = true
    const spent = await this.world.office.first<{ n: number }>(
      `SELECT (SELECT total(w.spent_microusd) FROM budget_windows w JOIN budgets b ON b.id = w.budget_id
         WHERE b.scope = 'hub' AND b.period = 'day' AND w.starts_at <= ?1 AND w.ends_at > ?1)
       + (SELECT total(cost_microusd) FROM activations WHERE state = 'running') AS n`,
      this.world.hub.clock.now(),
    )
    this.unspentAtRefusal = this.limit - (spent?.n ?? 0)
  }

  #plan(): CallPlan {
    const { chars } = this.calls[this.charges.length] ?? { chars: 0 }
    const messages = [{ role: 'user', text: 'x'.repeat(chars) } as const]
    return {
      ...measurePromptSize({ messages, tools: [] }),
      ...findRatio(this.#context, this.#model),
      request: {
        messages: [...messages],
        tools: [],
        maxOutputTokens: outputTokensMax,
        signal: AbortSignal.abort(),
      },
      model: {
        id: this.#model,
        provider: 'near',
        isOffline: false,
        contextTokens: 200_000,
        outputTokensMax,
        prices,
        call: () => Promise.reject(new Error('not called')),
      },
    }
  }

  #answer(plan: CallPlan): void {
    const { countedShare, outputShare } = this.calls[this.charges.length] as ScriptedCall
    const usage = {
      inputTokens: Math.round(estimateWideTokens(plan) * countedShare),
      cachedTokens: 0,
      outputTokens: Math.round(plan.request.maxOutputTokens * outputShare),
      reasoningTokens: 0,
    }
    const answer = { text: 'y', reasoning: '', calls: [], finish: 'stop', usage } as const
    const charge = toCharge(plan, { ...answer, calls: [] }, 1)
    recordCount(this.#context, plan, charge)
    this.charges.push(charge)
  }
}

const sum = (values: number[]): number => values.reduce((all, each) => all + each, 0)
