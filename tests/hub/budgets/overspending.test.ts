import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { setDefinedBudget } from '../../../src/hub/budgets/actions'
import type { ActivationId, PostId } from '../../../src/ids'
import { createOffice, usageOf } from '../activations/create-office'

/** What one agent will do: shares of what it may spend per call, and after which call it dies. */
interface Script {
  costs: number[]
  diesAfter: number | null
  ownLimit: number | null
}

const floor = { microusd: 10, tokens: 1 }
const want = { microusd: 100, tokens: 10 }

const script = fc.record({
  costs: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 4 }),
  diesAfter: fc.option(fc.integer({ min: 0, max: 3 })),
  ownLimit: fc.option(fc.integer({ min: 0, max: 300 })),
})
const plan = fc.record({
  scripts: fc.oneof(
    fc.array(script, { minLength: 1, maxLength: 8 }),
    fc.array(script, { minLength: 24, maxLength: 64, size: 'max' }),
  ),
  hubLimit: fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 500, max: 6_000 })),
  rollsInRound: fc.option(fc.integer({ min: 1, max: 4 })),
})

const office = createOffice()
const { hub, doors } = office
const flock: Awaited<ReturnType<typeof hub.join>>[] = []
let postId: PostId

beforeAll(async () => {
  const ada = await hub.join('ada', 'human')
  postId = await office.post(ada.key, 'Everybody, please')
  for (let i = 0; i < 64; i++) flock.push(await office.hire(`flock-${i}`))
})

/** One agent at work: the loop's money side, resumable after every wait and crash. */
class Worker {
  activationId = office.newId<ActivationId>()
  reservation: { microusd: number; tokens: number } | null = null
  spent = { microusd: 0, tokens: 0 }
  calls = 0
  isDone = false
  isDying = false
  constructor(
    readonly agent: (typeof flock)[number],
    readonly script: Script,
    readonly others: () => Worker[],
  ) {}

  /** Works until it is done, has to wait, or dies; the next round takes it up from there. */
  async work(): Promise<void> {
    if (this.isDying) return this.finish()
    if (this.calls === 0 && !(await this.load())) return
    while (this.calls < this.script.costs.length) {
      if (this.reservation === null && !(await this.renew())) return
      this.spend(this.script.costs[this.calls] ?? 0)
      if (this.calls++ === this.script.diesAfter) {
        this.isDying = true
        return
      }
    }
    await this.finish()
  }

  async load(): Promise<boolean> {
    const { activationId, agent } = this
    const request = {
      activationId,
      agentId: agent.id,
      now: hub.clock.now(),
      capacity: 1_000,
      mayExplore: false,
    }
    const answer = await doors.load(request)
    if (answer.kind === 'wait') {
      expect(answer.reason).toBe('money_reserved')
      return false
    }
    if (answer.kind !== 'loaded') throw new Error(answer.kind)
    if (answer.admission === 'granted') {
      expect(answer.reservation.microusd).toBeGreaterThanOrEqual(floor.microusd)
      this.reservation = answer.reservation
      return true
    }
    await this.checkRefusal()
    await this.finish()
    return false
  }

  async renew(): Promise<boolean> {
    const { activationId, agent, spent } = this
    const request = { activationId, agentId: agent.id, now: hub.clock.now(), spent, want, floor }
    const answer = await doors.renew(request)
    if (answer.kind === 'wait') return false
    if (answer.kind === 'renewed') {
      this.reservation = answer.reservation
      return true
    }
    expect(answer.reason).toBe('budget_exhausted')
    await this.checkRefusal()
    await this.finish()
    return false
  }

  spend(share: number): void {
    const { microusd, tokens } = this.reservation ?? { microusd: 0, tokens: 0 }
    this.spent.microusd += Math.round(share * Math.min(microusd, want.microusd))
    this.spent.tokens += Math.round(share * Math.min(tokens, want.tokens))
    this.reservation = null
  }

  async finish(): Promise<void> {
    const { microusd, tokens } = this.spent
    const usage = this.calls === 0 ? [] : [usageOf(microusd, tokens)]
    const answer = await office.commit(this.agent.id, this.activationId, { usage })
    expect(answer.kind).toBe('done')
    this.isDone = true
  }

  /** A refusal is right only when less than one call's floor is left of some budget in scope. */
  async checkRefusal(): Promise<void> {
    const budgets = (await readBudgets()).filter(
      ({ scope, scopeId }) => scope === 'hub' || scopeId === this.agent.id,
    )
    const unsettled = (all: Worker[]) => all.reduce((sum, { spent }) => sum + spent.microusd, 0)
    const working = this.others().filter(({ isDone }) => !isDone)
    const left = budgets.map(({ scope, limit, spent }) =>
      scope === 'hub' ? limit - spent - unsettled(working) : limit - spent - this.spent.microusd,
    )
    expect(Math.min(...left)).toBeLessThan(floor.microusd)
  }
}

interface Sums {
  scope: string
  scopeId: string
  limit: number
  spent: number
  reserved: number
}

/** Limit, spent and reserved of every budget now, in one statement. */
const readBudgets = () =>
  office.all<Sums>(
    `SELECT b.scope, b.scope_id AS scopeId, b.limit_microusd AS "limit", w.spent_microusd AS spent,
       (SELECT total(x.reserved_microusd) FROM activations x
        WHERE b.scope = 'hub' OR x.agent_id = b.scope_id) AS reserved
     FROM budgets b JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at <= ?1 AND w.ends_at > ?1`,
    hub.clock.now(),
  )

async function checkLimits(): Promise<void> {
  for (const { limit, spent, reserved, scope } of await readBudgets()) {
    expect(spent + reserved, `${scope}: spent ${spent}, reserved ${reserved}`).toBeLessThanOrEqual(
      limit,
    )
  }
}

/** Sets the limits, and gives every agent of the plan a task. */
async function prepare(scripts: Script[], hubLimit: number): Promise<void> {
  await office.clear()
  hub.clock.advance(70 * 86_400_000)
  const now = hub.clock.now()
  await office.setHubLimit(hubLimit)
  const db = office.context().db
  const own = scripts.flatMap(({ ownLimit }, index) =>
    ownLimit === null ? [] : setDefinedBudget(db, flock[index]?.id as never, ownLimit, now),
  )
  if (own.length > 0) await db.d1.batch(own)
  await doors.sweep(now)
  const tasks = scripts.map((_, index) => ({ id: office.newId(), to: flock[index]?.id }))
  await office.run(
    `INSERT INTO inbox_items (id, account_id, type, post_id, created_at, is_task)
     SELECT value ->> 'id', value ->> 'to', 'mention', ?1, ?2, 1 FROM json_each(?3)`,
    ...[postId, now, JSON.stringify(tasks)],
  )
}

test('B4: 1 to 64 at once, with deaths and a new period: never overspent, never refused with money left, always ended', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ scripts, hubLimit, rollsInRound }) => {
      await prepare(scripts, hubLimit)
      const workers: Worker[] = scripts.map(
        (each, index) => new Worker(flock[index] as never, each, () => workers),
      )
      for (let round = 0; workers.some(({ isDone }) => !isDone); round++) {
        expect(round, 'everybody waits for everybody').toBeLessThan(300)
        if (round === rollsInRound) hub.clock.advance(32 * 86_400_000)
        const atWork = workers.filter(({ isDone }) => !isDone)
        const checks = Array.from({ length: 1 + atWork.length / 8 }, checkLimits)
        await Promise.all([...atWork.map((worker) => worker.work()), ...checks])
        await checkLimits()
      }
      for (const { reserved } of await readBudgets()) expect(reserved).toBe(0)
      await checkBooks(workers)
    }),
    { numRuns: 20 },
  )
}, 120_000)

/** B11: counters, usage events and what was really spent are one number. */
async function checkBooks(workers: Worker[]): Promise<void> {
  const wrong = await office.all(
    `SELECT * FROM (SELECT b.id, w.starts_at, w.spent_microusd AS counted, w.spent_tokens AS tokens,
       (SELECT total(u.cost_microusd) FROM usage_events u
        WHERE u.created_at >= w.starts_at AND u.created_at < w.ends_at
          AND (b.scope = 'hub' OR u.account_id = b.scope_id)) AS recomputed,
       (SELECT total(u.input_tokens + u.output_tokens) FROM usage_events u
        WHERE u.created_at >= w.starts_at AND u.created_at < w.ends_at
          AND (b.scope = 'hub' OR u.account_id = b.scope_id)) AS recomputedTokens
     FROM budgets b JOIN budget_windows w ON w.budget_id = b.id)
     WHERE counted <> recomputed OR tokens <> recomputedTokens`,
  )
  expect(wrong).toEqual([])
  const total = await office.first(
    `SELECT sum(spent_microusd) AS n FROM budget_windows WHERE budget_id IN (SELECT id FROM budgets WHERE scope = 'hub')`,
  )
  expect(total?.n).toBe(workers.reduce((sum, { spent }) => sum + spent.microusd, 0))
}

test('B4: 256 reservations at once against money for 100 grant exactly 100', async () => {
  await office.clear()
  const crowd = Array.from({ length: 256 }, (_, i) => `crowd-${i}`)
  const ids = crowd.map(() => office.newId())
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO accounts (id, name, kind, created_at) SELECT value, 'crowd-' || key, 'agent', 0 FROM json_each(?)`,
    ).bind(JSON.stringify(ids)),
    env.DB.prepare(
      `INSERT INTO agents (account_id, definition_version, definition_etag, model, call_floor_microusd,
         call_want_microusd, call_floor_tokens, call_want_tokens, updated_at)
       SELECT value, 1, 'etag', 'test/model', 10, 10, 1, 1, 0 FROM json_each(?)`,
    ).bind(JSON.stringify(ids)),
    env.DB.prepare(
      `INSERT INTO inbox_items (id, account_id, type, post_id, created_at, is_task)
       SELECT 'task-' || key, value, 'mention', ?2, 1, 1 FROM json_each(?1)`,
    ).bind(JSON.stringify(ids), postId),
  ])
  await office.setHubLimit(1_000)
  const answers = await Promise.all(ids.map((id) => office.load(id as never, undefined, 1_000)))
  const granted = answers.filter(
    (answer) => answer.kind === 'loaded' && answer.admission === 'granted',
  )
  expect(granted).toHaveLength(100)
  expect(answers.filter(({ kind }) => kind === 'wait')).toHaveLength(156)
})
