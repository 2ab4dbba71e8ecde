import type { ExplorationReport } from '../../hub/contract/hub'
import { isWaitOver } from '../../shared/bounded-wait'
import { explorationScheduling } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import type { ExplainRequest, ExplorationOutcome, ExplorationView } from '../contract/agents'
import { canStart, explainExploration, type SchedulingMode } from './explain'
import { ExplorerIndex, pick } from './explorer-index'

/** An exploration without a report for this long counts as ended. */
const unreportedMs = 360_000

interface ExplorationQueueDeps {
  mode: SchedulingMode
  /** Running activations allowed on the hub. */
  capacity: number
}

/**
 * Decides which agents explore, and when to check again, from the index, the hub's last report and the
 * running explorations. It uses the pure functions of this folder and no I/O except its own SQLite.
 */
export class ExplorationQueue {
  readonly #sql: SqlStorage
  readonly #deps: ExplorationQueueDeps
  readonly #index: ExplorerIndex
  /** Start times of running explorations. */
  readonly #running = new Map<AccountId, number>()
  #news: number[] = []
  /** Times at which content becomes news that was posted since the last report; a copy of the table. */
  readonly #announced = new Set<number>()
  #announcedAt = -1
  #isThrottled = false
  #runningInbox = 0
  #isInboxWaiting = false

  constructor(sql: SqlStorage, deps: ExplorationQueueDeps) {
    this.#sql = sql
    this.#deps = deps
    this.#index = new ExplorerIndex(sql)
    // A report has the newest content only: news of what was posted before that is known here alone.
    sql.exec('CREATE TABLE IF NOT EXISTS announced (at INTEGER PRIMARY KEY)')
    for (const { at } of sql.exec<{ at: number }>('SELECT at FROM announced')) {
      this.#announced.add(at)
    }
  }

  isEmpty(): boolean {
    return this.#index.isEmpty()
  }

  /** Deletes all agents from the index. */
  clear(): void {
    this.#index.clear()
    this.#running.clear()
  }

  /** Applies the hub's report of a sweep, in which so many activations run. */
  applyReport(report: ExplorationReport, running: number): void {
    for (const facts of report.explorers) this.#index.put(facts)
    this.#news = report.newContentAt
    this.#isThrottled = report.isThrottled
    this.#runningInbox = Math.max(0, running - report.runningExploration)
    this.#isInboxWaiting = report.isInboxWaiting
  }

  /** Records when content that was just posted becomes news. Times are rounded up to slots. */
  announceNews(at: number): void {
    const { slotMs } = explorationScheduling
    const slot = Math.ceil(at / slotMs) * slotMs
    if (this.#announced.has(slot)) return
    this.#announced.add(slot)
    this.#sql.exec('INSERT OR IGNORE INTO announced (at) VALUES (?)', slot)
  }

  /** Records how an activation of the agent ended, or that an exploration did not start. */
  recordOutcome(news: ExplorationOutcome): void {
    this.#running.delete(news.agentId)
    switch (news.kind) {
      case 'finished':
        this.#index.finish(news.agentId, news)
        return
      case 'found_nothing':
        this.#index.markSatisfied(news.agentId, news.at)
        return
      case 'refused':
        this.#index.requeue(news.agentId, news.at + explorationScheduling.slotMs)
    }
  }

  /** Starts explorations up to the free capacity, and returns their agents. */
  startEligible(now: number): AccountId[] {
    if (this.#deps.mode === 'notification' || this.#isThrottled) return []
    this.#expireUnreported(now)
    this.#requeueSatisfied(now)
    const taken: AccountId[] = []
    while (this.#hasCapacity()) {
      const head = pick(this.#index.readHeads(now), now)
      if (!head) break
      const agentId = this.#index.start(head, now)
      this.#running.set(agentId, now)
      taken.push(agentId)
    }
    return taken
  }

  /** Explains why each of these agents doesn't explore now. */
  explain({ agents, hub }: ExplainRequest, now: number): ExplorationView[] {
    return agents.map((agent) => {
      const stored = this.#index.read(agent.agentId)
      const isRunning = agent.isRunning || this.#running.has(agent.agentId)
      return explainExploration({ ...agent, isRunning }, hub, { ...this.#deps, stored, now })
    })
  }

  /** Returns when an agent can explore next; null when that depends on a report only. */
  computeNextAt(now: number): number | null {
    if (this.#deps.mode === 'notification' || this.#isThrottled || !this.#hasCapacity()) return null
    const times = [this.#index.nextEligibleAt(), readNews(this.#listNews(), now).nextAt]
    const known = times.filter((at) => at !== null)
    // Agents that become eligible within a slot start together.
    return known.length > 0
      ? Math.max(Math.min(...known), now + explorationScheduling.slotMs / 2)
      : null
  }

  #hasCapacity(): boolean {
    return canStart('exploration', this.#deps.mode, {
      capacity: this.#deps.capacity,
      runningInbox: this.#runningInbox,
      runningExploration: this.#running.size,
      isInboxWaiting: this.#isInboxWaiting,
      isExplorationWaiting: true,
    })
  }

  /** Requeues satisfied agents once there are new posts. */
  #requeueSatisfied(now: number): void {
    const { seenAt } = readNews(this.#listNews(), now)
    this.#dropAnnounced(seenAt)
    if (seenAt === this.#announcedAt) return
    this.#announcedAt = seenAt
    this.#index.requeueSatisfied(seenAt)
  }

  /** Deletes what is no news any more; the last one stays, so that it is news once. */
  #dropAnnounced(seenAt: number): void {
    const passed = [...this.#announced].filter((at) => at < seenAt)
    if (passed.length === 0) return
    for (const at of passed) this.#announced.delete(at)
    this.#sql.exec('DELETE FROM announced WHERE at < ?', seenAt)
  }

  #listNews(): number[] {
    return [...this.#news, ...this.#announced]
  }

  #expireUnreported(now: number): void {
    for (const [agentId, at] of this.#running) {
      if (isWaitOver(at + unreportedMs, now, unreportedMs)) this.#running.delete(agentId)
    }
  }
}

/** When posts become visible to exploring agents: the last time that has passed, and the next one. */
interface News {
  seenAt: number
  nextAt: number | null
}

/**
 * Returns the last visibility time up to now, and the next one.
 *
 * @param times as the hub reports them; 0 means never
 */
function readNews(times: readonly number[], now: number): News {
  const next = times.filter((at) => at > now)
  return {
    seenAt: Math.max(0, ...times.filter((at) => at <= now)),
    nextAt: next.length > 0 ? Math.min(...next) : null,
  }
}
