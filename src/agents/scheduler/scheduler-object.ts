import { DurableObject } from 'cloudflare:workers'
import type { SchedulerQuestion, SchedulerView, TurnNews } from '../contract'
import { type SchedulerDeps, SchedulerShell } from './scheduler-shell'

/** The scheduler's Durable Object: what others may ask of it. What it does is in its shell. */
export class SchedulerObjectBase<Env> extends DurableObject<Env> {
  readonly #shell: SchedulerShell

  constructor(ctx: DurableObjectState, env: Env, deps: SchedulerDeps) {
    super(ctx, env)
    this.#shell = new SchedulerShell(ctx.storage, deps)
  }

  /** Sweep soon, unless `disarm` is called with the token this returns. */
  arm(): number {
    return this.#shell.arm()
  }

  disarm(token: number): void {
    this.#shell.disarm(token)
  }

  /** Sweeps at once when this object has just come to life: something may have died with the last. */
  ensureStarted(): Promise<void> {
    return this.#shell.ensureStarted()
  }

  hear(news: TurnNews): Promise<void> {
    return this.#shell.hear(news)
  }

  lookSoon(): Promise<void> {
    return this.#shell.lookSoon()
  }

  /** Why agents have no turn and tasks wait. Reads its own memory only. */
  explain(question: SchedulerQuestion): SchedulerView {
    return this.#shell.explain(question)
  }

  readSweepAge(): number | null {
    return this.#shell.readSweepAge()
  }

  override alarm(): Promise<void> {
    return this.#shell.alarm()
  }
}
