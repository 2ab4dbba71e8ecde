import { scheduling } from '../../config'
import type { DueSchedule, Schedule, SweepDoor, SweepReport } from '../../hub/contract'
import type { AccountId, Clock } from '../../ids'
import type { SchedulerQuestion, SchedulerView, TurnNews } from '../contract'
import { computeNextDue } from './cron'
import { explainTask } from './explain'
import { computeNextSweep, isForgotten } from './next-sweep'
import { Rounds } from './rounds'
import { explorationFloor, type SchedulingMode } from './shares'

export interface SchedulerDeps {
  hub: SweepDoor
  /** Hints to agents; false when one could not be reached. */
  wake(agentIds: AccountId[]): Promise<boolean>
  /** The same, with a turn to look around. */
  offerTurns(agentIds: AccountId[]): Promise<boolean>
  clock: Clock
  mode: SchedulingMode
  /** Running activations allowed on the hub. */
  capacity: number
}

/** The part of a Durable Object's storage that the scheduler uses. */
export interface SchedulerStorage {
  sql: SqlStorage
  setAlarm(at: number): Promise<void>
}

/**
 * Gives turns to look around, gives work by the clock, and catches what got lost: a wake-up whose
 * sender died, an activation whose machine died. It is not on the way of a mention; while every
 * wake-up arrives and nobody is eligible it reads nothing (S2, S6, S10).
 */
export class SchedulerShell {
  readonly #storage: SchedulerStorage
  readonly #deps: SchedulerDeps
  readonly #rounds: Rounds
  /** Token -> when it was armed. In step with the table. */
  readonly #armed = new Map<number, number>()
  /** Armed because somebody could not be reached. */
  #unreached: number | null = null
  /** Due before the next slow sweep, as the last sweep reported them. */
  #schedules: Schedule[] = []
  /** Changes since then are not in the index yet; 0: all of it is to be read. */
  #knownUntil: number
  #lastSweepAt: number | null = null
  #alarmAt: number | null = null
  #isFresh = true

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
    this.#rounds = new Rounds(sql, deps)
    const known = sql.exec<{ until: number }>('SELECT until FROM known').toArray()[0]
    this.#knownUntil = this.#rounds.isEmpty() ? 0 : (known?.until ?? 0)
  }

  /** Sweep soon, unless `disarm` is called with the token this returns. */
  arm(at = this.#deps.clock.now()): number {
    const { token } = this.#storage.sql
      .exec<{ token: number }>('INSERT INTO armed (at) VALUES (?) RETURNING token', at)
      .one()
    this.#armed.set(token, at)
    this.#plan()
    return token
  }

  disarm(token: number): void {
    this.#armed.delete(token)
    this.#storage.sql.exec('DELETE FROM armed WHERE token = ?', token)
  }

  /** Sweeps at once when this object has just come to life: something may have died with the last. */
  async ensureStarted(): Promise<void> {
    if (this.#isFresh) await this.#sweep()
  }

  async lookSoon(): Promise<void> {
    await this.#sweep()
  }

  async hear(news: TurnNews): Promise<void> {
    this.#rounds.hear(news)
    await this.#offerTurns()
    this.#plan()
  }

  explain(question: SchedulerQuestion): SchedulerView {
    const { mode, capacity, clock } = this.#deps
    const now = clock.now()
    return {
      mode,
      capacity,
      floor: explorationFloor(mode, capacity),
      lastSweepAt: this.#lastSweepAt,
      nextSweepAt: computeNextSweep(this.#state(), now),
      turns: this.#rounds.explain(question, now),
      tasks: question.tasks.map((task) => explainTask(task, question.hub, { mode, capacity })),
    }
  }

  readSweepAge(): number | null {
    return this.#lastSweepAt === null ? null : this.#deps.clock.now() - this.#lastSweepAt
  }

  async alarm(): Promise<void> {
    this.#alarmAt = null
    const now = this.#deps.clock.now()
    if (this.#isFresh || computeNextSweep(this.#state(), now) <= now) {
      await this.#sweep()
      return
    }
    await this.#giveScheduled()
    await this.#offerTurns()
    this.#plan()
  }

  /**
   * The next alarm is set before anything can fail; a sweep that fails is made up for by the next
   * one, so it is no reason for the platform to retry, and after some tries give up, this alarm.
   */
  async #sweep(): Promise<void> {
    const now = this.#deps.clock.now()
    const wasFresh = this.#isFresh
    this.#isFresh = false
    this.#lastSweepAt = now
    this.#alarmAt = null
    this.#plan()
    const answer = await this.#ask(now).catch(() => null)
    await this.#send(this.#deps.wake, answer?.wake ?? [])
    await this.#giveScheduled()
    await this.#offerTurns()
    if (answer) for (const [token, at] of this.#armed) if (isForgotten(at, now)) this.disarm(token)
    // what began right before the last machine died is too young to be found at once
    if (wasFresh && answer?.running !== 0) this.arm(now - scheduling.sweepArmedMs)
    this.#plan()
  }

  /** One round trip, and one more for each further page of agents that changed. */
  async #ask(now: number): Promise<Pick<SweepReport, 'wake' | 'running'>> {
    const question = { since: this.#knownUntil, until: now + 2 * scheduling.sweepSlowMs }
    let first: SweepReport | null = null
    let after: AccountId | null = null
    do {
      const report: SweepReport = await this.#deps.hub.sweep(now, { ...question, after })
      first ??= report
      after = report.exploration?.next ?? null
      if (report.exploration) {
        this.#schedules = report.exploration.schedules
        this.#rounds.learn(report.exploration, {
          running: report.running,
          waiting: first.wake.length,
        })
      }
    } while (after !== null)
    this.#knownUntil = now
    this.#storage.sql.exec('INSERT OR REPLACE INTO known (id, until) VALUES (0, ?)', now)
    return first
  }

  /** Schedules that were missed while nothing ran are due once, not many times (S7). */
  async #giveScheduled(): Promise<void> {
    const now = this.#deps.clock.now()
    const due = this.#schedules
      .filter(({ dueAt }) => dueAt <= now)
      .map(({ agentId, key, dueAt, cron, timezone }): DueSchedule => {
        return { agentId, key, dueAt, nextAt: computeNextDue(cron, timezone, now) }
      })
    if (due.length === 0) return
    const isGiven = await this.#deps.hub.giveScheduled(due, now).then(
      () => true,
      () => false,
    )
    if (!isGiven) {
      // The next sweep, which this brings near, reads them again.
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
    const woken = due.filter(({ dueAt }) => dueAt > 0).map(({ agentId }) => agentId)
    await this.#send(this.#deps.wake, [...new Set(woken)])
  }

  async #offerTurns(): Promise<void> {
    const taken = this.#rounds.take(this.#deps.clock.now())
    await this.#send(this.#deps.offerTurns, taken)
  }

  /**
   * What dies before it has an alarm is not lost either: sweep soon. Who cannot be reached for longer
   * than a sweep stays armed is left to the slow one.
   */
  async #send(hint: SchedulerDeps['wake'], agentIds: AccountId[]): Promise<void> {
    if (agentIds.length === 0 || (await hint(agentIds))) return
    // of its own: any other may be disarmed in the next moment
    if (this.#unreached === null || !this.#armed.has(this.#unreached)) this.#unreached = this.arm()
  }

  #state() {
    const oldestArmedAt = this.#armed.size > 0 ? Math.min(...this.#armed.values()) : null
    return { lastSweepAt: this.#lastSweepAt, oldestArmedAt }
  }

  /** An alarm that comes early is kept: it finds out that it is not needed and goes on. */
  #plan(): void {
    const now = this.#deps.clock.now()
    const times = [
      computeNextSweep(this.#state(), now),
      this.#rounds.nextAt(now) ?? Number.POSITIVE_INFINITY,
      ...this.#schedules.map(({ dueAt }) => Math.max(now, dueAt)),
    ]
    const next = Math.min(...times)
    const isInPlace =
      this.#alarmAt !== null &&
      this.#alarmAt <= next &&
      this.#alarmAt > now - scheduling.sweepIntervalMs
    if (isInPlace) return
    this.#alarmAt = next
    void this.#storage.setAlarm(next)
  }
}
