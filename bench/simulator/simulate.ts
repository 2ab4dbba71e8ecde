import { canStart, explorationFloor, type SchedulingMode } from '../../src/agents/scheduler/explain'
import { explorationScheduling } from '../../src/shared/config'
import { Explorers, type IndexRule } from './explorers'
import { Heap } from './heap'
import { Inbox } from './inbox'
import { OptimalSchedule } from './lower-bound'
import { Measure, type Report } from './measure'
import { capacityAt, MentionSource } from './mentions'
import { createRandom, type Population, populate, type Scenario } from './population'

const dayMs = 86_400_000
/** Share of the time that is not measured, so that the initial state has no effect. */
const warmUpShare = 0.2

/**
 * Simulates days of a hub in seconds and returns its measurements. It uses the same functions as the
 * scheduler's object and LOAD: classes and floor, tiers and index, eligibility and backoff. Time jumps
 * from one event to the next.
 *
 * @param rule another priority index, for comparison with the default
 */
export function simulate(
  scenario: Scenario,
  mode: SchedulingMode = 'hybrid',
  rule?: IndexRule,
): Report {
  return new Simulation(scenario, mode, rule).run()
}

class Simulation {
  readonly #scenario: Scenario
  readonly #mode: SchedulingMode
  readonly #rule: IndexRule | undefined
  readonly #random: () => number
  readonly #population: Population
  readonly #explorers: Explorers
  readonly #inbox = new Inbox()
  readonly #mentions: MentionSource
  readonly #measure: Measure
  /** Running agents, by end of the activation. */
  readonly #running = new Heap()
  /** Per agent: 0 idle, 1 running a task, 2 exploring. */
  readonly #doing: Uint8Array
  readonly #endsAt: number
  #runningInbox = 0
  #runningExploration = 0
  #now: number

  constructor(scenario: Scenario, mode: SchedulingMode, rule: IndexRule | undefined) {
    this.#scenario = scenario
    this.#mode = mode
    this.#rule = rule
    this.#random = createRandom(scenario.seed)
    this.#population = populate(scenario, this.#random)
    // Far from zero, which means never.
    this.#now = 1_000 * dayMs
    const spanMs = scenario.days * dayMs
    this.#endsAt = this.#now + spanMs
    this.#explorers = new Explorers(this.#population, this.#drawAges())
    this.#mentions = new MentionSource(
      scenario,
      this.#population.mentionedCount,
      this.#now,
      this.#random,
    )
    this.#measure = new Measure(this.#population, this.#now + warmUpShare * spanMs)
    this.#doing = new Uint8Array(scenario.agents)
  }

  run(): Report {
    while (this.#now < this.#endsAt) {
      this.#explorers.promote(this.#now)
      this.#startActivations()
      this.#advance()
    }
    this.#countUnfinished()
    const capacityMin = this.#scenario.hasDisruptions
      ? this.#scenario.capacity / 2
      : this.#scenario.capacity
    const floor = explorationFloor(this.#mode, Math.max(1, Math.floor(capacityMin)))
    return this.#measure.report(this.#endsAt, floor / explorationScheduling.slotMs)
  }

  /** Draws initial ages as on a hub that has run for long. */
  #drawAges(): Float64Array {
    const { agents, capacity, inboxLoad } = this.#scenario
    const allAgents = Array.from({ length: agents }, (_, id) => id)
    const perMs =
      (capacity * Math.max(explorationScheduling.explorationFloor, 1 - inboxLoad)) /
      explorationScheduling.slotMs
    const best = new OptimalSchedule(this.#population, allAgents, perMs)
    return Float64Array.from(allAgents, (id) =>
      Math.floor(this.#now - this.#random() * best.gapOf(id)),
    )
  }

  /** Starts all activations that can start. */
  #startActivations(): void {
    for (let chosen = this.#choose(); chosen >= 0; chosen = this.#choose()) {
      const isInbox = this.#doing[chosen] === 1
      if (isInbox) this.#runningInbox++
      else this.#runningExploration++
      const durationMs = explorationScheduling.slotMs * (0.5 + this.#random())
      this.#running.push(this.#now + durationMs, chosen)
    }
  }

  /** Marks and returns the agent that starts next; -1 for none. */
  #choose(): number {
    const next = this.#explorers.pick(this.#now, this.#rule)
    const demand = {
      capacity: capacityAt(this.#scenario, this.#now),
      runningInbox: this.#runningInbox,
      runningExploration: this.#runningExploration,
      isInboxWaiting: this.#inbox.hasWaiting,
      isExplorationWaiting: next >= 0,
    }
    if (this.#inbox.hasWaiting && canStart('inbox', this.#mode, demand)) {
      const task = this.#inbox.take((agent) => this.#doing[agent] !== 0)
      if (task) return this.#answer(task.agent, task.since)
    }
    if (next < 0 || !canStart('exploration', this.#mode, demand)) return -1
    this.#measure.addReadyWait(next, this.#now - (this.#explorers.readySince[next] ?? 0))
    this.#measure.explorations++
    this.#explorers.start(next)
    this.#doing[next] = 2
    return next
  }

  #answer(agent: number, since: number[]): number {
    for (const at of since) this.#measure.addTaskWait(this.#now - at, this.#now)
    this.#measure.answers++
    this.#explorers.start(agent)
    this.#doing[agent] = 1
    return agent
  }

  /** Advances to the next event and applies it. */
  #advance(): void {
    const hour = 3_600_000
    const next = Math.min(
      this.#running.peekKey(),
      this.#mentions.nextAt,
      Math.max(this.#explorers.nextEligibleAt(), this.#now + 1),
      // Capacity changes on the hour.
      (Math.floor(this.#now / hour) + 1) * hour,
      this.#endsAt,
    )
    this.#now = next
    while (this.#running.peekKey() <= next) this.#finish(this.#running.pop())
    while (this.#mentions.nextAt <= next) {
      const agent = this.#mentions.take()
      this.#inbox.add(agent, next, this.#doing[agent] !== 0)
    }
  }

  #finish(id: number): void {
    const isExploration = this.#doing[id] === 2
    this.#doing[id] = 0
    if (isExploration) {
      this.#runningExploration--
      this.#measure.addAge(id, this.#explorers.lastExploredAt[id] ?? 0, this.#now, true)
    } else this.#runningInbox--
    const hasFailed = this.#random() < (this.#population.failChance[id] ?? 0)
    this.#explorers.finish(id, this.#now, hasFailed, isExploration)
    this.#inbox.release(id)
  }

  /** Counts unfinished waits up to the end of the simulation. */
  #countUnfinished(): void {
    const { lastExploredAt, readySince } = this.#explorers
    for (let id = 0; id < this.#scenario.agents; id++) {
      this.#measure.addAge(id, lastExploredAt[id] ?? 0, this.#endsAt, false)
      if (this.#explorers.isReady(id)) {
        this.#measure.addReadyWait(id, this.#endsAt - (readySince[id] ?? 0))
      }
    }
    for (const age of this.#inbox.listAges(this.#endsAt)) {
      this.#measure.addTaskWait(age, this.#endsAt)
    }
  }
}
