import { turns } from '../../config'
import type { ExplorationReport } from '../../hub/contract'
import type { AccountId } from '../../ids'
import type { SchedulerQuestion, TurnNews, TurnView } from '../contract'
import { explainTurn } from './explain'
import { ExplorerIndex } from './explorer-index'
import { readNews } from './news'
import { pick } from './pick'
import { mayStart, type SchedulingMode } from './shares'

/** A turn that nobody has heard of for so long is taken for over. */
const unheardMs = 360_000

export interface RoundsDeps {
  mode: SchedulingMode
  /** Running activations allowed on the hub. */
  capacity: number
}

/**
 * Who looks around, and when to see again: the index, what the hub last said, and the turns under
 * way. It decides by the pure functions beside it and does no I/O but its own SQLite.
 */
export class Rounds {
  readonly #deps: RoundsDeps
  readonly #index: ExplorerIndex
  /** Turns under way, by when they began. */
  readonly #underWay = new Map<AccountId, number>()
  #news: number[] = []
  #announcedAt = -1
  #isThrottled = false
  #runningInbox = 0
  #doesInboxWait = false

  constructor(sql: SqlStorage, deps: RoundsDeps) {
    this.#deps = deps
    this.#index = new ExplorerIndex(sql)
  }

  isEmpty(): boolean {
    return this.#index.isEmpty()
  }

  /** What the hub says at a sweep. */
  learn(report: ExplorationReport, hub: { running: number; waiting: number }): void {
    for (const facts of report.explorers) this.#index.put(facts)
    this.#news = report.news
    this.#isThrottled = report.isThrottled
    this.#runningInbox = Math.max(0, hub.running - report.runningExploration)
    this.#doesInboxWait = hub.waiting > 0
  }

  /** How an activation of the agent ended, or that it had no turn after all. */
  hear(news: TurnNews): void {
    this.#underWay.delete(news.agentId)
    switch (news.kind) {
      case 'finished':
        this.#index.finish(news.agentId, {
          at: news.at,
          hasFailed: news.hasFailed,
          isSatisfied: news.isSatisfied,
        })
        return
      case 'found_nothing':
        this.#index.satisfy(news.agentId, news.at)
        return
      case 'refused':
        this.#index.putBack(news.agentId, news.at + turns.slotMs)
    }
  }

  /** The agents whose turn it is now, as many as there is room for. */
  take(now: number): AccountId[] {
    if (this.#deps.mode === 'notification' || this.#isThrottled) return []
    this.#forgetUnheard(now)
    this.#announce(now)
    const taken: AccountId[] = []
    while (this.#hasRoom()) {
      const head = pick(this.#index.readHeads(now), now)
      if (!head) break
      const agentId = this.#index.start(head, now)
      this.#underWay.set(agentId, now)
      taken.push(agentId)
    }
    return taken
  }

  /** Why each of these agents has no turn now. */
  explain({ agents, hub }: SchedulerQuestion, now: number): TurnView[] {
    return agents.map((agent) => {
      const stored = this.#index.read(agent.agentId)
      const isRunning = agent.isRunning || this.#underWay.has(agent.agentId)
      return explainTurn({ ...agent, isRunning }, hub, { ...this.#deps, stored, now })
    })
  }

  /** When somebody may have a turn next; null when only news or a word of the hub can change it. */
  nextAt(now: number): number | null {
    if (this.#deps.mode === 'notification' || this.#isThrottled || !this.#hasRoom()) return null
    const times = [this.#index.nextEligibleAt(), readNews(this.#news, now).nextAt]
    const known = times.filter((at) => at !== null)
    // Who becomes eligible within a slot has its turn with the others of that slot.
    return known.length > 0 ? Math.max(Math.min(...known), now + turns.slotMs / 2) : null
  }

  #hasRoom(): boolean {
    return mayStart('exploration', this.#deps.mode, {
      capacity: this.#deps.capacity,
      runningInbox: this.#runningInbox,
      runningExploration: this.#underWay.size,
      doesInboxWait: this.#doesInboxWait,
      doesExplorationWait: true,
    })
  }

  /** Who had seen everything looks again once there is more to see. */
  #announce(now: number): void {
    const { seenAt } = readNews(this.#news, now)
    if (seenAt === this.#announcedAt) return
    this.#announcedAt = seenAt
    this.#index.announceNews(seenAt)
  }

  #forgetUnheard(now: number): void {
    for (const [agentId, at] of this.#underWay) {
      if (now - at > unheardMs) this.#underWay.delete(agentId)
    }
  }
}
