import type { DueSchedule, Schedule, SweepApi, SweepReport } from '../../hub/contract/hub'
import { boundWait } from '../../shared/bounded-wait'
import { scheduling } from '../../shared/config'
import type { AccountId, Clock } from '../../shared/ids'
import type { ExplainRequest, ExplorationOutcome, SchedulerView } from '../contract/agents'
import { computeNextDue } from './cron'
import { explainTask, explorationFloor, type SchedulingMode } from './explain'
import { ExplorationQueue } from './exploration-queue'

export interface SchedulerDeps {
  hub: SweepApi
  /** Wakes agents; false when one could not be reached. */
  wake(agentIds: AccountId[]): Promise<boolean>
  /** Wakes agents to explore; false when one could not be reached. */
  offerExplorations(agentIds: AccountId[]): Promise<boolean>
  /** Closes what runs hold open at services and have not used for a while; absent: they hold nothing. Never throws. */
  closeIdle?(): Promise<void>
  clock: Clock
  mode: SchedulingMode
  /** Running activations allowed on the hub. */
  capacity: number
}

/** The part of a Durable Object's storage that the scheduler uses. */
interface SchedulerStorage {
  sql: SqlStorage
  setAlarm(at: number): Promise<void>
}

/**
 * Starts explorations and schedules, and finds lost work: wake-ups whose sender died, activations
 * whose machine died. Mentions don't depend on it. While every wake-up arrives and no agent is
 * eligible to explore, it reads nothing.
 */
export class SchedulerShell {
  readonly #storage: SchedulerStorage
  readonly #deps: SchedulerDeps
  readonly #explorations: ExplorationQueue
  /** Times at which the sweep was armed, by token; a copy of the table. */
  readonly #armed = new Map<number, number>()
  /** Token of the arming for agents that could not be reached. */
  #unreached: number | null = null
  /** Schedules due before the next slow sweep, as the last sweep reported them. */
  #schedules: Schedule[] = []
  /** Time up to which the index includes the hub's changes; 0 when the whole index must be read. */
  #knownUntil: number
  #lastSweepAt: number | null = null
  #alarmAt: number | null = null
  /** When a provider that is down is tried again; the hub stores it. */
  #nextAttemptAt: number | null = null
  /** The latest time that this object or its predecessor has seen: a clock that shows less was set back. */
  #latestAt: number
  #isFresh = true
  #isIdle = false

  constructor(storage: SchedulerStorage, deps: SchedulerDeps) {
    this.#storage = storage
    this.#deps = deps
    const { sql } = storage
    sql.exec(
      'CREATE TABLE IF NOT EXISTS armed (token INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL)',
    )
    sql.exec(
      'CREATE TABLE IF NOT EXISTS known (id INTEGER PRIMARY KEY CHECK (id = 0), until INTEGER)',
    )
    for (const row of sql.exec<{ token: number; at: number }>('SELECT token, at FROM armed')) {
      this.#armed.set(row.token, row.at)
    }
    sql.exec(
      `CREATE TABLE IF NOT EXISTS swept (id INTEGER PRIMARY KEY CHECK (id = 0), at INTEGER,
        alarm_at INTEGER, is_idle INTEGER NOT NULL DEFAULT 0)`,
    )
    sql.exec('INSERT OR IGNORE INTO swept (id) VALUES (0)')
    sql.exec(
      'CREATE TABLE IF NOT EXISTS scheduled (id INTEGER PRIMARY KEY CHECK (id = 0), at INTEGER NOT NULL)',
    )
    this.#readLastSweep()
    this.#latestAt = Math.max(this.#lastSweepAt ?? 0, this.#readScheduledAt())
    this.#explorations = new ExplorationQueue(sql, deps)
    const known = sql.exec<{ until: number }>('SELECT until FROM known').toArray()[0]
    this.#knownUntil = this.#explorations.isEmpty() ? 0 : (known?.until ?? 0)
  }

  /** Reads what the object's predecessor knew: an alarm outlives its object. */
  #readLastSweep(): void {
    const { at, alarm_at, is_idle } = this.#storage.sql
      .exec<{ at: number | null; alarm_at: number | null; is_idle: number }>(
        'SELECT at, alarm_at, is_idle FROM swept',
      )
      .one()
    this.#lastSweepAt = at
    this.#alarmAt = alarm_at
    this.#isIdle = is_idle === 1
  }

  /** Stores whether the last sweep left nothing to do and nothing came since. */
  #setIdle(isIdle: boolean): void {
    if (this.#isIdle === isIdle) return
    this.#isIdle = isIdle
    this.#storage.sql.exec('UPDATE swept SET is_idle = ?', Number(isIdle))
  }

  /** Arms the sweep and returns a token for `disarm`, which cancels it. */
  arm(at = this.#now()): number {
    const { token } = this.#storage.sql
      .exec<{ token: number }>('INSERT INTO armed (at) VALUES (?) RETURNING token', at)
      .one()
    this.#armed.set(token, at)
    this.#setIdle(false)
    this.#setAlarm()
    return token
  }

  disarm(token: number): void {
    this.#armed.delete(token)
    this.#storage.sql.exec('DELETE FROM armed WHERE token = ?', token)
  }

  /**
   * Sweeps at once when this object has just started: its predecessor may have lost wake-ups. An idle object
   * that was only evicted waits for its alarm, however often it starts.
   */
  async ensureStarted(): Promise<void> {
    if (!this.#isFresh) return
    const now = this.#now()
    const isDue = this.#lastSweepAt === null || computeNextSweep(this.#state(), now) <= now
    if (isDue || !this.#isIdle) await this.#sweep()
    else this.#setAlarm()
  }

  /** Sweeps at a time. A restarted object sweeps at its alarm in any case. */
  sweepAt(at: number): void {
    this.#nextAttemptAt = Math.min(at, this.#nextAttemptAt ?? at)
    this.#setAlarm()
  }

  /** Starts explorations when content that was just posted becomes news, without a sweep. */
  announceNews(at: number): void {
    this.#explorations.announceNews(at)
    this.#setAlarm()
  }

  /** Reads all agents again: the hub was restored. */
  async reset(): Promise<void> {
    this.#knownUntil = 0
    this.#explorations.clear()
    await this.#sweep()
  }

  async sweepNow(): Promise<void> {
    await this.#sweep()
  }

  async reportOutcome(news: ExplorationOutcome): Promise<void> {
    this.#explorations.recordOutcome(news)
    await this.#offerExplorations()
    this.#setAlarm()
  }

  explain(question: ExplainRequest): SchedulerView {
    const { mode, capacity } = this.#deps
    const now = this.#now()
    return {
      mode,
      capacity,
      floor: explorationFloor(mode, capacity),
      lastSweepAt: this.#lastSweepAt,
      nextSweepAt: computeNextSweep(this.#state(), now),
      explorations: this.#explorations.explain(question, now),
      tasks: question.tasks.map((task) => explainTask(task, question.hub, { mode, capacity })),
    }
  }

  readSweepAge(): number | null {
    return this.#lastSweepAt === null ? null : this.#now() - this.#lastSweepAt
  }

  async alarm(): Promise<void> {
    this.#alarmAt = null
    const now = this.#now()
    const isAttemptDue = this.#nextAttemptAt !== null && this.#nextAttemptAt <= now
    if (this.#isFresh || isAttemptDue || computeNextSweep(this.#state(), now) <= now) {
      await this.#sweep()
      return
    }
    await this.#startDueSchedules()
    await this.#offerExplorations()
    this.#setAlarm()
  }

  /**
   * Runs a sweep. The next alarm is set first, and a failed sweep doesn't throw: the next one makes up
   * for it, while the platform would retry a failing alarm only a few times.
   */
  async #sweep(): Promise<void> {
    const now = this.#now()
    const wasFresh = this.#isFresh
    this.#isFresh = false
    this.#lastSweepAt = now
    this.#storage.sql.exec('UPDATE swept SET at = ?', now)
    this.#alarmAt = null
    this.#nextAttemptAt = null
    this.#setAlarm()
    const answer = await this.#readReport(now, wasFresh).catch(() => null)
    this.#setIdle(answer?.running === 0 && answer.wake.length === 0)
    await this.#wake(this.#deps.wake, answer?.wake ?? [])
    await this.#startDueSchedules()
    await this.#offerExplorations()
    // Not awaited: a slow server delays nobody.
    void this.#deps.closeIdle?.()
    if (answer?.nextAttemptAt) this.sweepAt(answer.nextAttemptAt)
    if (answer)
      for (const [token, at] of this.#armed) if (isArmingExpired(at, now)) this.disarm(token)
    // Activations that started right before the last machine died are too young to be found now.
    if (wasFresh && answer?.running !== 0) this.arm(now - scheduling.sweepArmedMs)
    this.#setAlarm()
  }

  /** Reads the hub's sweep report: one round trip per page of changed agents. */
  async #readReport(now: number, isFirst: boolean): Promise<Omit<SweepReport, 'exploration'>> {
    const isClockBack = this.#latestAt > now + scheduling.sweepIntervalMs
    const question = {
      since: isClockBack ? 0 : boundWait(this.#knownUntil, now, 0),
      until: now + 2 * scheduling.sweepSlowMs,
      ...(isClockBack && { isClockBack }),
      ...(isFirst && { isFirst }),
    }
    let first: SweepReport | null = null
    let after: AccountId | null = null
    do {
      const report: SweepReport = await this.#deps.hub.sweep(now, { ...question, after })
      first ??= report
      after = report.exploration?.next ?? null
      if (report.exploration) {
        this.#schedules = report.exploration.schedules
        this.#explorations.applyReport(report.exploration, report.running)
      }
    } while (after !== null)
    this.#knownUntil = now
    if (isClockBack) this.#saveScheduledAt(now)
    this.#latestAt = now
    this.#storage.sql.exec('INSERT OR REPLACE INTO known (id, until) VALUES (0, ?)', now)
    return first
  }

  /** Returns when schedules were last given due times; 0: never. */
  #readScheduledAt(): number {
    const stored = this.#storage.sql.exec<{ at: number }>('SELECT at FROM scheduled').toArray()[0]
    return stored?.at ?? 0
  }

  #saveScheduledAt(now: number): void {
    this.#storage.sql.exec('INSERT OR REPLACE INTO scheduled (id, at) VALUES (0, ?)', now)
  }

  #now(): number {
    const now = this.#deps.clock.now()
    this.#latestAt = Math.max(this.#latestAt, now)
    return now
  }

  /** Creates the tasks of due schedules. A schedule that was missed repeatedly is due once. */
  async #startDueSchedules(): Promise<void> {
    const now = this.#now()
    const due = this.#schedules
      .filter(({ dueAt }) => dueAt <= now)
      .map(({ agentId, key, dueAt, cron, timezone }): DueSchedule => {
        return { agentId, key, dueAt, nextAt: computeNextDue(cron, timezone, now) }
      })
    if (due.length === 0) return
    this.#saveScheduledAt(now)
    this.#setIdle(false)
    const isGiven = await this.#deps.hub.createScheduledTasks(due, now).then(
      () => true,
      () => false,
    )
    if (!isGiven) {
      // Arms a sweep, which reads the schedules again.
      this.#schedules = []
      this.arm()
      return
    }
    const nextOf = new Map(due.map((each) => [`${each.agentId} ${each.key}`, each.nextAt]))
    this.#schedules = this.#schedules.flatMap((each) => {
      const next = nextOf.get(`${each.agentId} ${each.key}`)
      if (next === undefined) return [each]
      return next === null ? [] : [{ ...each, dueAt: next }]
    })
    const woken = [...new Set(due.flatMap(({ agentId, dueAt }) => (dueAt > 0 ? [agentId] : [])))]
    const { capacity } = this.#deps
    // no more than may run; the others are woken by the runs that end, and by the sweep
    if (woken.length > capacity) this.arm()
    await this.#wake(this.#deps.wake, woken.slice(0, capacity))
  }

  async #offerExplorations(): Promise<void> {
    const taken = this.#explorations.startEligible(this.#now())
    if (taken.length > 0) this.#setIdle(false)
    await this.#wake(this.#deps.offerExplorations, taken)
  }

  /**
   * Wakes agents, and arms the sweep if one cannot be reached. An agent that stays unreachable for
   * longer than a sweep stays armed is left to the slow sweep.
   */
  async #wake(hint: SchedulerDeps['wake'], agentIds: AccountId[]): Promise<void> {
    if (agentIds.length === 0 || (await hint(agentIds))) return
    // A separate token, because any other one can be disarmed at any moment.
    if (this.#unreached === null || !this.#armed.has(this.#unreached)) this.#unreached = this.arm()
  }

  #state() {
    const oldestArmedAt = this.#armed.size > 0 ? Math.min(...this.#armed.values()) : null
    return { lastSweepAt: this.#lastSweepAt, oldestArmedAt }
  }

  /** Sets the next alarm. An earlier one is kept: it finds nothing to do and sets the next. */
  #setAlarm(): void {
    const now = this.#now()
    const times = [
      computeNextSweep(this.#state(), now),
      this.#explorations.computeNextAt(now) ?? Number.POSITIVE_INFINITY,
      ...this.#schedules.map(({ dueAt }) => Math.max(now, dueAt)),
      ...(this.#nextAttemptAt === null ? [] : [Math.max(now, this.#nextAttemptAt)]),
    ]
    const next = Math.min(...times)
    const isInPlace =
      this.#alarmAt !== null &&
      this.#alarmAt <= next &&
      this.#alarmAt > now - scheduling.sweepIntervalMs
    if (isInPlace) return
    this.#alarmAt = next
    this.#storage.sql.exec('UPDATE swept SET alarm_at = ?', next)
    void this.#storage.setAlarm(next)
  }
}

/** Inputs of the sweep's interval. Times in milliseconds since the epoch; null means never. */
interface SweepState {
  lastSweepAt: number | null
  /** When the sweep was armed for the oldest unconfirmed wake-up. */
  oldestArmedAt: number | null
}

/**
 * Returns when to sweep next: at the short interval while a wake-up is unconfirmed, otherwise at the
 * slow interval. A time in the future was stored before the clock went back: it delays nothing.
 */
export function computeNextSweep({ lastSweepAt, oldestArmedAt }: SweepState, now: number): number {
  if (lastSweepAt !== null && lastSweepAt > now) return now
  const slow = (lastSweepAt ?? now) + scheduling.sweepSlowMs
  if (oldestArmedAt === null) return Math.max(now, slow)
  const armedAt = oldestArmedAt > now ? 0 : oldestArmedAt
  const soon = Math.max(armedAt, lastSweepAt ?? 0) + scheduling.sweepIntervalMs
  return Math.max(now, Math.min(slow, soon))
}

/** Returns whether an unconfirmed wake-up is so old that the slow interval suffices. */
export const isArmingExpired = (armedAt: number, now: number): boolean =>
  now - armedAt > scheduling.sweepArmedMs
