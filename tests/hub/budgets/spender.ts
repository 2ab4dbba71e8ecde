import { expect } from 'vitest'
import type { Usage } from '../../../src/hub/contract/hub'
import type { ActivationId } from '../../../src/shared/ids'
import { usageOf } from '../runs/create-office'
import { type Held, type Kind, kinds, pays, type SpendingWorld } from './spending-world'

/** The behaviour of one agent: shares of its reservation that it spends per call, and the call after which it crashes. */
export interface Script {
  costs: number[]
  diesAfter: number | null
  /** The call from which on another model is used. */
  switchesAt: number | null
  /** Sends every request twice, as after lost answers. */
  repeats: boolean
}

const floor = { microusd: 10, tokens: 1 }
const want = { microusd: 100, tokens: 10 }
/** The model that a run switches to. */
const otherModel = 'far/c'

/** A running agent: the spending part of the loop through the hub's API, resumable after each wait and crash. */
export class Spender {
  activationId: ActivationId
  model = ''
  reservation: { microusd: number; tokens: number } | null = null
  usage: Usage[] = []
  isFinishing = false
  isDone = false
  isDying = false
  /** The latest time at which it reserved money. */
  at = 0
  readonly communityId: string | null
  constructor(
    readonly world: SpendingWorld,
    readonly index: number,
    readonly script: Script,
    readonly others: () => Spender[],
  ) {
    this.activationId = world.office.newId<ActivationId>()
    this.communityId = world.communityOf(world.posts[index % 2])
  }

  get agent() {
    const agent = this.world.flock[this.index]
    if (!agent) throw new Error('no such agent')
    return agent
  }
  get spent() {
    return {
      microusd: add(this.usage.map(({ costMicrousd }) => costMicrousd)),
      tokens: add(this.usage.map(({ inputTokens }) => inputTokens)),
    }
  }

  /** Runs until it is done, has to wait, or crashes; the next round resumes it. */
  async work(): Promise<void> {
    if (this.isDying) return this.finish()
    if (this.model === '' && !(await this.load())) return
    while (this.usage.length < this.script.costs.length) {
      if (this.usage.length === this.script.switchesAt) this.switchModel()
      if (this.reservation === null && !(await this.renew())) return
      this.call()
      if (this.usage.length === this.script.diesAfter) {
        this.isDying = true
        return
      }
    }
    await this.finish()
  }

  switchModel(): void {
    this.model = otherModel
    this.reservation = null
  }

  async load(): Promise<boolean> {
    const { world, activationId, agent } = this
    const now = world.hub.clock.now()
    const request = { activationId, agentId: agent.id, now, capacity: 1_000, canExplore: false }
    const before = this.countReleasing('isDone', now)
    const answer = await this.ask(() => world.hubApi.load(request))
    if (answer.kind === 'wait') {
      expect(answer.reason).toBe('money_reserved')
      return false
    }
    if (answer.kind !== 'loaded') throw new Error(answer.kind)
    this.model = answer.model
    this.at = now
    if (answer.admission === 'granted') {
      expect(answer.reservation.microusd).toBeGreaterThanOrEqual(floor.microusd)
      this.reservation = answer.reservation
      return true
    }
    for (const model of agent.models) await this.checkRefusal([model], before)
    await this.finish()
    return false
  }

  get called(): string[] {
    return [...new Set([...this.usage.map(({ model }) => model), this.model])]
  }

  async renew(): Promise<boolean> {
    const { world, activationId, agent, spent, called: models } = this
    const now = world.hub.clock.now()
    this.at = Math.max(this.at, now)
    const before = this.countReleasing('isDone', this.at)
    const answer = await this.ask(() =>
      world.hubApi.renew({ activationId, agentId: agent.id, now, spent, want, floor, models }),
    )
    if (answer.kind === 'wait') return false
    if (answer.kind === 'renewed') {
      this.reservation = answer.reservation
      return true
    }
    expect(answer.reason).toBe('budget_exhausted')
    await this.checkRefusal(models, before)
    await this.finish()
    return false
  }

  call(): void {
    const { microusd, tokens } = this.reservation ?? { microusd: 0, tokens: 0 }
    const share = this.script.costs[this.usage.length] ?? 0
    const part = (most: number, wanted: number) => Math.round(share * Math.min(most, wanted))
    const cost = usageOf(
      part(microusd, want.microusd),
      part(tokens, want.tokens),
      this.usage.length + 1,
    )
    this.usage.push({ ...cost, model: this.model })
    this.reservation = null
  }

  async finish(): Promise<void> {
    const { usage } = this
    this.isFinishing = true
    const commit = () => this.world.office.commit(this.agent.id, this.activationId, { usage })
    expect((await this.ask(commit)).kind).toBe('done')
    this.isDone = true
  }

  /** Sends a request, twice when it repeats, and returns the last answer. */
  async ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    if (this.script.repeats) await question()
    return question()
  }

  /**
   * Counts the settled runs that release money when they settle. Until then what they have used counts
   * everywhere: in the budgets of both models of a run that changed its model, and in the window of `at`
   * for a run that is charged to another one, because the clock went back.
   */
  countReleasing(state: 'isDone' | 'isFinishing', at: number): number {
    const now = this.world.hub.clock.now()
    const isElsewhere = (other: Spender) => Math.max(now, other.at) !== at
    return this.others().filter(
      (other) => other[state] && (other.called.length > 1 || isElsewhere(other)),
    ).length
  }

  /** A refusal is right only when less than one call's floor is left of some budget in scope. */
  async checkRefusal(models: string[], releasingBefore: number): Promise<void> {
    const { budgets, running } = await this.world.look(this.at)
    if (this.countReleasing('isFinishing', this.at) !== releasingBefore) return
    const by = { agentId: this.agent.id, communityId: this.communityId, models }
    const callsLeft = budgets
      .filter((budget) => pays(budget, by))
      .flatMap((budget) =>
        kinds.map((kind) => {
          const unsettled = running.filter((row) => pays(budget, row))
          const used = unsettled.map((row) => row[`used_${kind}`])
          const mine = unsettled.some(({ id }) => id === this.activationId) ? 0 : this.spent[kind]
          const limit = budget[`limit_${kind}`] ?? Number.MAX_SAFE_INTEGER
          return (limit - add([budget[`spent_${kind}`] ?? 0, ...used]) - mine) / floor[kind]
        }),
      )
    expect(Math.min(...callsLeft), `refused ${models}`).toBeLessThan(1)
  }
}

const add = (numbers: number[]): number => numbers.reduce((sum, each) => sum + each, 0)

/** Returns what is spent and reserved, by budget id. */
export function sumUp(
  { budgets, running }: Awaited<ReturnType<SpendingWorld['look']>>,
  kind: Kind,
): Map<string, number> {
  const held = (budget: Held) =>
    add(running.filter((row) => pays(budget, row)).map((row) => row[`reserved_${kind}`]))
  return new Map(
    budgets.map((budget) => [budget.id, (budget[`spent_${kind}`] ?? 0) + held(budget)]),
  )
}
