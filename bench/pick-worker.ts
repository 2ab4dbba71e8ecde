/**
 * The scheduler's index alone, for `pick.cpu_ms.*`: the real SQLite of a Durable Object, the real
 * statements and decisions. One decision is what one turn costs: pick, start, finish.
 */
import { DurableObject } from 'cloudflare:workers'
import { ExplorerIndex, pick, tierWeight } from '../src/agents/scheduler/explorer-index'
import { explorationScheduling } from '../src/shared/config'
import { type AccountId, uuidV7 } from '../src/shared/ids'

interface BenchEnv {
  SCHEDULER: DurableObjectNamespace<BenchScheduler>
}

const startAt = 1_800_000_000_000
const random = new Uint8Array(10)

export class BenchScheduler extends DurableObject<BenchEnv> {
  readonly #index: ExplorerIndex

  constructor(ctx: DurableObjectState, env: BenchEnv) {
    super(ctx, env)
    this.#index = new ExplorerIndex(ctx.storage.sql)
  }

  /** Agents of all weights that were last activated at different times, a part of them at a time. */
  fill(from: number, count: number): number {
    for (let number = from; number < from + count; number++) {
      this.#index.put({
        agentId: uuidV7(startAt, crypto.getRandomValues(random)) as AccountId,
        weight: tierWeight(number % explorationScheduling.weightTiers),
        intervalMs: explorationScheduling.intervalMs,
        lastActivatedAt: 0,
        lastExploredAt:
          startAt - explorationScheduling.intervalMs - ((number * 7_919_000) % 86_400_000),
        consecutiveFailures: 0,
        isPaused: false,
      })
    }
    return this.ctx.storage.sql.databaseSize
  }

  /** Makes everybody eligible, so that what is measured are decisions. */
  settle(): void {
    this.#index.readHeads(startAt)
  }

  /**
   * Each decision is written before the next begins, as it is on a hub where each comes with an event
   * of its own.
   *
   * @param after time since the start, and `stepMs` from one turn to the next
   */
  async decide(count: number, after: number, stepMs: number): Promise<number> {
    let decided = 0
    for (let turn = 0; turn < count; turn++) {
      await this.ctx.storage.sync()
      const now = startAt + after + turn * stepMs
      const head = pick(this.#index.readHeads(now), now)
      if (!head) continue
      const agentId = this.#index.start(head, now)
      this.#index.finish(agentId, {
        at: now,
        isExploration: true,
        hasFailed: false,
        isSatisfied: false,
      })
      decided++
    }
    return decided
  }
}

export default {
  async fetch(request, env) {
    const url = new URL(request.url)
    const read = (name: string) => Number(url.searchParams.get(name))
    const index = env.SCHEDULER.getByName(url.searchParams.get('name') ?? '')
    switch (url.pathname) {
      case '/fill':
        return Response.json(await index.fill(read('from'), read('n')))
      case '/settle':
        await index.settle()
        return Response.json(true)
      default:
        return Response.json(await index.decide(read('n'), read('after'), read('step')))
    }
  },
} satisfies ExportedHandler<BenchEnv>
