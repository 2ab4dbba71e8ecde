import { DurableObject } from 'cloudflare:workers'
import { scheduling } from '../../config'
import type { SweepDoor } from '../../hub/contract'
import type { AccountId, Clock } from '../../ids'
import { computeNextSweep, isForgotten } from './next-sweep'

export interface SchedulerDeps {
  hub: SweepDoor
  /** Hints to agents. Never throws. */
  wake(agentIds: AccountId[]): Promise<void>
  clock: Clock
}

/**
 * Catches what got lost: a wake-up whose sender died, an activation whose machine died. It is not on
 * the way of a mention; while every wake-up arrives it reads nothing (S2, S6).
 */
export class SchedulerObjectBase<Env> extends DurableObject<Env> {
  readonly #deps: SchedulerDeps
  /** Token -> when it was armed. In step with the table. */
  readonly #armed = new Map<number, number>()
  #lastSweepAt: number | null = null
  #alarmAt: number | null = null
  #isFresh = true

  constructor(ctx: DurableObjectState, env: Env, deps: SchedulerDeps) {
    super(ctx, env)
    this.#deps = deps
    const { sql } = ctx.storage
    sql.exec(
      'CREATE TABLE IF NOT EXISTS armed (token INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL)',
    )
    for (const row of sql.exec<{ token: number; at: number }>('SELECT token, at FROM armed')) {
      this.#armed.set(row.token, row.at)
    }
  }

  /** Sweep soon, unless `disarm` is called with the token this returns. */
  arm(): number {
    const at = this.#deps.clock.now()
    const { token } = this.ctx.storage.sql
      .exec<{ token: number }>('INSERT INTO armed (at) VALUES (?) RETURNING token', at)
      .one()
    this.#armed.set(token, at)
    this.#plan()
    return token
  }

  disarm(token: number): void {
    this.#armed.delete(token)
    this.ctx.storage.sql.exec('DELETE FROM armed WHERE token = ?', token)
  }

  /** Sweeps at once when this object has just come to life: something may have died with the last. */
  async ensureStarted(): Promise<void> {
    if (!this.#isFresh) return
    this.#isFresh = false
    await this.#sweep()
  }

  readSweepAge(): number | null {
    return this.#lastSweepAt === null ? null : this.#deps.clock.now() - this.#lastSweepAt
  }

  override async alarm(): Promise<void> {
    this.#alarmAt = null
    const now = this.#deps.clock.now()
    if (computeNextSweep(this.#state(), now) <= now || this.#isFresh) {
      this.#isFresh = false
      await this.#sweep()
    } else this.#plan()
  }

  /**
   * The next alarm is set before anything can fail; a sweep that fails is made up for by the next
   * one, so it is no reason for the platform to retry, and after some tries give up, this alarm.
   */
  async #sweep(): Promise<void> {
    const now = this.#deps.clock.now()
    this.#lastSweepAt = now
    for (const [token, at] of this.#armed) if (isForgotten(at, now)) this.disarm(token)
    this.#alarmAt = null
    this.#plan()
    const report = await this.#deps.hub.sweep(now).catch(() => null)
    if (report) await this.#deps.wake(report.wake)
  }

  #state() {
    const oldestArmedAt = this.#armed.size > 0 ? Math.min(...this.#armed.values()) : null
    return { lastSweepAt: this.#lastSweepAt, oldestArmedAt }
  }

  /** An alarm that comes early is kept: it finds out that it is not needed and goes on. */
  #plan(): void {
    const now = this.#deps.clock.now()
    const next = computeNextSweep(this.#state(), now)
    const isInPlace =
      this.#alarmAt !== null &&
      this.#alarmAt <= next &&
      this.#alarmAt > now - scheduling.sweepIntervalMs
    if (isInPlace) return
    this.#alarmAt = next
    void this.ctx.storage.setAlarm(next)
  }
}
