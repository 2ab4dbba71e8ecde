import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { Usage } from '../../../src/hub/contract/hub'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import { createOffice, usageOf } from './create-office'
import { asking, createParking } from './create-parking'

/** What one agent will do: shares of what it may spend per call, and before which calls it asks people. */
interface Script {
  costs: number[]
  parksBefore: number[]
}

const floor = { microusd: 10, tokens: 1 }
const want = { microusd: 100, tokens: 10 }
const script = fc.record({
  costs: fc.array(fc.constantFrom(0, 0.3, 0.7, 1), { minLength: 1, maxLength: 5, size: 'max' }),
  parksBefore: fc.subarray([1, 2, 3, 4]),
})
const plan = fc.record({
  scripts: fc.array(script, { minLength: 2, maxLength: 10, size: 'max' }),
  hubLimit: fc.constantFrom(0, 15, 120, 333, 700, 1_500, 10_000),
  repeats: fc.boolean(),
})

const office = createOffice()
const { hub, hubApi } = office
const flock: Awaited<ReturnType<typeof hub.join>>[] = []
let postId: PostId
let parks = 0

beforeAll(async () => {
  const ada = await hub.join('ada', 'human')
  postId = await office.post(ada.key, 'Everybody, please')
  for (let i = 0; i < 10; i++) flock.push(await office.createAgent(`flock-${i}`))
  await hubApi.sweep(hub.clock.now())
})

/** One agent at work that parks now and then; resumable after every wait. */
class Worker {
  activationId: ActivationId | null = null
  reservation: { microusd: number; tokens: number } | null = null
  /** Since it was loaded or resumed. */
  unsettled = { microusd: 0, tokens: 0 }
  usage: Usage[] = []
  parked: string | null = null
  isDone = false
  constructor(
    readonly agent: (typeof flock)[number],
    readonly script: Script,
    readonly repeats: boolean,
  ) {}

  async work(): Promise<void> {
    const { compose, decide } = createParking(office, () => this.agent.id)
    if (this.parked) {
      await decide(this.parked)
      if (!(await this.load())) return
      this.parked = null
    }
    if (!this.activationId && !(await this.load())) return
    const id = this.activationId
    if (!id) return
    while (this.usage.length < this.script.costs.length) {
      const call = this.usage.length
      const callId = `call-${call}`
      if (this.script.parksBefore.includes(call) && this.unsettled.microusd > 0) {
        const request = compose(id, { approvals: [asking(callId)], usage: this.usage })
        const answers = await Promise.all(
          Array.from({ length: this.repeats ? 2 : 1 }, () => hubApi.park(request)),
        )
        for (const { kind } of answers) expect(kind).toBe('parked')
        parks++
        this.parked = `${id}:${callId}`
        this.unsettled = { microusd: 0, tokens: 0 }
        this.reservation = null
        return
      }
      if (this.reservation === null && !(await this.renew(id))) return
      this.spend(this.script.costs[call] ?? 0)
    }
    await this.finish(id)
  }

  async load(): Promise<boolean> {
    const requestId = office.newId<ActivationId>()
    const answer = await office.load(this.agent.id, requestId, 1_000)
    if (answer.kind === 'wait') {
      expect(answer.reason).toBe('money_reserved')
      return false
    }
    if (answer.kind !== 'loaded' && answer.kind !== 'resumed') throw new Error(answer.kind)
    if (answer.kind === 'resumed') expect(answer.activationId).toBe(this.activationId)
    this.activationId = answer.kind === 'resumed' ? answer.activationId : requestId
    if (answer.admission === 'budget_exhausted') {
      await this.finish(this.activationId)
      return false
    }
    this.reservation = answer.reservation
    return true
  }

  async renew(activationId: ActivationId): Promise<boolean> {
    const { agent, unsettled: spent } = this
    const request = { activationId, agentId: agent.id, now: hub.clock.now(), spent, want, floor }
    const answer = await hubApi.renew(request)
    if (answer.kind === 'wait') return false
    if (answer.kind === 'refused') {
      expect(answer.reason).toBe('budget_exhausted')
      await this.finish(activationId)
      return false
    }
    this.reservation = answer.reservation
    return true
  }

  spend(share: number): void {
    const { microusd, tokens } = this.reservation ?? { microusd: 0, tokens: 0 }
    const cost = Math.round(share * Math.min(microusd, want.microusd))
    const used = Math.round(share * Math.min(tokens, want.tokens))
    this.unsettled.microusd += cost
    this.unsettled.tokens += used
    this.usage.push(usageOf(cost, used, this.usage.length + 1))
    this.reservation = null
  }

  async finish(id: ActivationId): Promise<void> {
    expect((await office.commit(this.agent.id, id, { usage: this.usage })).kind).toBe('done')
    this.isDone = true
    const row = await office.activation(id)
    expect(row?.cost_microusd).toBe(this.usage.reduce((sum, each) => sum + each.costMicrousd, 0))
  }
}

const readHub = () =>
  office.first<{ spent: number; reserved: number; booked: number }>(
    `SELECT (SELECT total(spent_microusd) FROM budget_windows WHERE budget_id LIKE '%0201') AS spent,
       (SELECT total(reserved_microusd) FROM activations) AS reserved,
       (SELECT total(cost_microusd) FROM usage_events) AS booked`,
  )

test('B4 L30: with parking and resuming in between nothing is overspent or paid twice, and everybody ends', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ scripts, hubLimit, repeats }) => {
      await office.clear()
      await office.run('DELETE FROM approvals')
      await office.setHubLimit(hubLimit)
      hub.clock.advance(1_000)
      const tasks = scripts.map((_, index) => ({ id: office.newId(), to: flock[index]?.id }))
      await office.run(
        `INSERT INTO inbox_items (id, account_id, type, post_id, created_at, is_task)
         SELECT value ->> 'id', value ->> 'to', 'mention', ?1, ?2, 1 FROM json_each(?3)`,
        postId,
        hub.clock.now(),
        JSON.stringify(tasks),
      )
      const workers = scripts.map((each, index) => new Worker(flock[index] as never, each, repeats))
      for (let round = 0; workers.some(({ isDone }) => !isDone); round++) {
        expect(round, 'everybody waits for everybody').toBeLessThan(200)
        const check = async () => {
          const { spent = 0, reserved = 0, booked = 0 } = (await readHub()) ?? {}
          expect(spent + reserved).toBeLessThanOrEqual(hubLimit)
          expect(booked).toBe(spent)
        }
        const atWork = workers.filter(({ isDone }) => !isDone)
        await Promise.all([...atWork.map((worker) => worker.work()), check(), check()])
        await check()
      }
      const total = workers
        .flatMap(({ usage }) => usage)
        .reduce((sum, u) => sum + u.costMicrousd, 0)
      expect(await readHub()).toEqual({ spent: total, reserved: 0, booked: total })
    }),
    { numRuns: sampleSize(6, 20) },
  )
  expect(parks).toBeGreaterThan(sampleSize(3, 20))
})
