import { DurableObject } from 'cloudflare:workers'
import type {
  ExplainRequest,
  ExplorationOutcome,
  SchedulerApi,
  SchedulerView,
} from '../contract/agents'
import { type SchedulerDeps, SchedulerShell } from './scheduler-shell'

/** The scheduler's Durable Object: its RPC methods. The implementation is in its shell. */
export class SchedulerObjectBase<Env> extends DurableObject<Env> {
  readonly #shell: SchedulerShell

  constructor(ctx: DurableObjectState, env: Env, deps: SchedulerDeps) {
    super(ctx, env)
    this.#shell = new SchedulerShell(ctx.storage, deps)
  }

  /** Arms the sweep and returns a token for `disarm`, which cancels it. */
  arm(): number {
    return this.#shell.arm()
  }

  disarm(token: number, newsAt: number | null = null): void {
    this.#shell.disarm(token)
    if (newsAt !== null) this.#shell.announceNews(newsAt)
  }

  /** Sweeps at once when this object has just started: its predecessor may have lost wake-ups. */
  ensureStarted(): Promise<void> {
    return this.#shell.ensureStarted()
  }

  reportOutcome(news: ExplorationOutcome): Promise<void> {
    return this.#shell.reportOutcome(news)
  }

  sweepAt(at: number): void {
    this.#shell.sweepAt(at)
  }

  announceNews(at: number): void {
    this.#shell.announceNews(at)
  }

  sweepNow(): Promise<void> {
    return this.#shell.sweepNow()
  }

  /** Explains why agents don't explore and tasks wait. Reads only the scheduler's own state. */
  explain(question: ExplainRequest): SchedulerView {
    return this.#shell.explain(question)
  }

  /** Reads all agents again, and wakes those with tasks: the hub was restored. */
  reset(): Promise<void> {
    return this.#shell.reset()
  }

  readSweepAge(): number | null {
    return this.#shell.readSweepAge()
  }

  override alarm(): Promise<void> {
    return this.#shell.alarm()
  }
}

/** Creates the API of the hub's single scheduler object. */
export function createSchedulerApi(
  namespace: DurableObjectNamespace<SchedulerObjectBase<unknown>>,
): SchedulerApi {
  const object = () => namespace.getByName('scheduler')
  return {
    arm: async () => object().arm(),
    disarm: async (token, newsAt) => object().disarm(token, newsAt),
    ensureStarted: () => object().ensureStarted(),
    reportOutcome: (news) => object().reportOutcome(news),
    sweepAt: async (at) => object().sweepAt(at),
    announceNews: async (at) => object().announceNews(at),
    sweepNow: () => object().sweepNow(),
    explain: async (question) => object().explain(question),
    reset: () => object().reset(),
    readSweepAge: async () => object().readSweepAge(),
  }
}
