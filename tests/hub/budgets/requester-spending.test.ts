import { beforeAll, beforeEach, expect, test } from 'vitest'
import { sweep } from '../../../src/hub/api/sweep'
import { signIn } from '../../web/open-pages'
import { adminKey } from '../create-test-hub'
import { createOffice, usageOf } from '../runs/create-office'

const office = createOffice()
const { hub, createAgent, post, comment } = office
type Account = Awaited<ReturnType<typeof hub.join>>
const people: Record<string, Account> = {}
const get = (name: string): Account => people[name] ?? { id: '' as Account['id'], key: '', name }
let scout: Account
const HOUR_MS = 3_600_000

interface Line {
  requester: { name: string } | null
  task: string | null
  spent_microusd: number
  spent_tokens: number
}

const read = async (key?: string) => {
  const { body, status } = await hub.call('/budgets', key ? { key } : {})
  expect(status).toBe(200)
  return body.requesters as { budget_id: string; spent: Line[]; others: Line } | null
}
/** What was spent by the name of who asked, or by the task. */
const spentBy = async (key = adminKey): Promise<Record<string, number>> =>
  Object.fromEntries(
    ((await read(key))?.spent ?? []).map(({ requester, task, spent_microusd }) => [
      requester?.name ?? task,
      spent_microusd,
    ]),
  )
const othersOf = async (key = adminKey) => (await read(key))?.others
const spentOfHub = async (): Promise<number> => {
  const { body } = await hub.call('/budgets')
  return body.budgets.find(({ scope }: { scope: string }) => scope === 'hub').spent_microusd
}
const spend = async (names: string[], cost: number) => {
  const [first = '', ...others] = names
  const id = await post(get(first).key, '@scout please')
  for (const name of others) await comment(get(name).key, id, '@scout me too')
  const { activationId } = await office.start(scout.id)
  await office.commit(scout.id, activationId, { usage: [usageOf(cost, 3)] })
}
const explore = async (cost: number) => {
  await post(get('mira').key, '@scout please')
  const { activationId } = await office.start(scout.id)
  await office.run(
    `UPDATE activations SET requesters = '[]', payers = '{}', task = 'exploration' WHERE id = ?`,
    activationId,
  )
  await office.commit(scout.id, activationId, { usage: [usageOf(cost, 3)] })
}
/** A sweep; those of the last minutes of an hour look for calls to count. */
const count = async () => {
  const context = office.context()
  await sweep(context, hub.clock.now())
  return context.db.cost
}
const readCounted = () =>
  office.all<{ requester: string; spent_microusd: number }>('SELECT * FROM requester_spending')

beforeAll(async () => {
  for (const name of ['mira', 'ada', 'ben']) people[name] = await hub.join(name, 'human')
  scout = await createAgent('scout')
  await count()
})
beforeEach(async () => {
  await office.clear()
  await office.run('DELETE FROM requester_spending')
  await office.run(
    `UPDATE requester_spending_progress SET budget_id = '', starts_at = 0, counted_until = 0`,
  )
  // Away from the ends of a month.
  const month = new Date(hub.clock.now() + 20 * 86_400_000).toISOString().slice(0, 7)
  const middle = Date.parse(`${month}-12T12:50:00Z`)
  if (middle > hub.clock.now()) hub.clock.advance(middle - hub.clock.now())
  await count()
})

test('B10 T3: spending is shown by who asked, equally of a shared run, and of explorations by their task', async () => {
  await spend(['mira'], 100)
  await spend(['ada', 'mira'], 31)
  await explore(20)
  expect(await spentBy()).toEqual({ mira: 115, ada: 16, exploration: 20 })
  expect(await spentOfHub()).toBe(151)
  expect(await othersOf()).toEqual({ spent_microusd: 0, spent_tokens: 0 })
  const lines = (await read(adminKey))?.spent ?? []
  expect(lines.map(({ spent_tokens }) => spent_tokens).reduce((sum, each) => sum + each)).toBe(9)
})

test('B10: it is the same before and after a sweep counts the calls, however often and by how many', async () => {
  await spend(['mira'], 100)
  hub.clock.advance(HOUR_MS + 5_000)
  await spend(['ada', 'ben'], 51)
  const all = { mira: 100, ada: 26, ben: 25 }
  expect(await spentBy()).toEqual(all)
  await count()
  expect(await readCounted()).toEqual([])
  hub.clock.advance(HOUR_MS - 2_000)
  await Promise.all([count(), count(), count()])
  expect(await readCounted()).toMatchObject([{ requester: get('mira').id, spent_microusd: 100 }])
  expect(await spentBy()).toEqual(all)
  hub.clock.advance(3 * HOUR_MS)
  await spend(['mira'], 7)
  await count()
  expect(await readCounted()).toHaveLength(3)
  expect(await spentBy()).toEqual({ ...all, mira: 107 })
  expect(await spentOfHub()).toBe(158)
  // Nothing is left to count: the sweep writes nothing, and costs one round trip.
  expect(await count()).toMatchObject({ roundTrips: 1 })
})

test('B10: the sums are of the window that is shown: a new one starts empty, and so does another main budget', async () => {
  await spend(['mira'], 100)
  hub.clock.advance(4 * HOUR_MS)
  await count()
  const body = { scope: 'hub', period: 'day', limit_microusd: 500 }
  const made = await hub.call('/budgets', { key: adminKey, body })
  expect(made.status).toBe(201)
  await office.run(
    `UPDATE budgets SET limit_microusd = NULL WHERE scope = 'hub' AND period = 'month'`,
  )
  hub.clock.advance(24 * HOUR_MS)
  expect((await read(adminKey))?.budget_id).toBe(made.body.budget.id)
  expect(await spentBy()).toEqual({})
  await spend(['ada'], 40)
  hub.clock.advance(4 * HOUR_MS)
  await count()
  expect(await readCounted()).toMatchObject([{ requester: get('ada').id }])
  expect(await spentBy()).toEqual({ ada: 40 })
  await hub.call(`/budgets/${made.body.budget.id}`, { key: adminKey, method: 'DELETE' })
  expect(await spentBy()).toEqual({ mira: 100, ada: 40 })
})

test('B10: what was spent of an ended window stays, counted to its end, and is shown by whom it may be seen', async () => {
  const readOf = async (of: string, key = adminKey) => {
    const { body, status } = await hub.call(`/budgets?requesters_of=${of}`, { key })
    return { status, requesters: body.requesters as Awaited<ReturnType<typeof read>> }
  }
  const endsOf = async () => (await hub.call('/budgets', { key: adminKey })).body.requesters.ended
  const before = await endsOf()
  await spend(['mira'], 100)
  hub.clock.advance(4 * HOUR_MS)
  await count()
  // Not counted before the window ends.
  await spend(['ada', 'mira'], 31)
  await explore(20)
  const now = new Date(hub.clock.now())
  const startsAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString()
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  hub.clock.advance(next + 3 * HOUR_MS - 60_000 - hub.clock.now())
  await Promise.all([count(), count()])
  await count()
  expect(await spentBy()).toEqual({})
  expect(await readCounted()).toEqual([])
  expect(await endsOf()).toEqual([startsAt, ...before])
  const amounts = (of: Awaited<ReturnType<typeof read>>) =>
    Object.fromEntries(
      (of?.spent ?? []).map((line) => [line.requester?.name ?? line.task, line.spent_microusd]),
    )
  const past = await readOf(startsAt)
  expect(amounts(past.requesters)).toEqual({ mira: 115, ada: 16, exploration: 20 })
  expect(past.requesters).toMatchObject({ starts_at: startsAt, others: { spent_microusd: 0 } })
  const own = await readOf(startsAt, get('ada').key)
  expect(amounts(own.requesters)).toEqual({ ada: 16 })
  expect(own.requesters?.others).toMatchObject({ spent_microusd: 135 })
  expect((await readOf('2020-01-01T00:00:00.000Z')).status).toBe(404)
  const browser = await signIn(hub)
  expect(await browser.read('/budgets')).toContain(`href="/budgets?requesters_of=${startsAt}`)
  const html = await browser.read(`/budgets?requesters_of=${startsAt}`)
  expect(html).toMatch(/aria-current="page">1\u00a0\w+\u00a0\d+ to/)
  expect(html).toContain('>ada<')

  // After more than a year it is gone.
  hub.clock.advance(430 * 24 * HOUR_MS)
  await count()
  hub.clock.advance(5 * HOUR_MS)
  await count()
  expect(
    await office.all(
      'SELECT * FROM requester_spending_past WHERE starts_at = ?',
      Date.parse(startsAt),
    ),
  ).toEqual([])
})

test('B10 T3: members see their own line, and nobody else any', async () => {
  await spend(['mira'], 100)
  await spend(['ada'], 40)
  await explore(9)
  expect(await spentBy(get('mira').key)).toEqual({ mira: 100 })
  expect(await othersOf(get('mira').key)).toMatchObject({ spent_microusd: 49 })
  expect(await spentBy(get('ben').key)).toEqual({ ben: 0 })
  expect(await read()).toBeNull()
})

test('B10 S10: the ten that spent most are shown, counted or not, and few rows are read of 2,000', async () => {
  await spend(['mira'], 100)
  const { budget_id } = (await read(adminKey)) ?? {}
  const measure = async (crowd: number) => {
    await office.run(
      `WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ?1)
       INSERT INTO requester_spending SELECT printf('00000000-0000-7000-a000-%012d', n), n, 1 FROM i
       WHERE true ON CONFLICT DO NOTHING`,
      crowd,
    )
    await office.run(
      `UPDATE requester_spending_progress SET budget_id = ?1, counted_until = ?2, starts_at =
         (SELECT max(starts_at) FROM budget_windows WHERE budget_id = ?1 AND starts_at <= ?2)`,
      budget_id,
      hub.clock.now(),
    )
    await spend(['ada'], 10_000)
    const context = office.context()
    const { selectRequesterLines } = await import('../../../src/hub/budgets/requester-queries')
    const { run } = await import('../../../src/shared/db/batch')
    const { accountReader } = await import('../../../src/hub/viewers/reader')
    const reader = accountReader(get('ben').id)
    await run(context.db, selectRequesterLines({ now: hub.clock.now(), reader }))
    return context.db.cost
  }
  const few = await measure(20)
  const many = await measure(2_000)
  expect(many.rowsRead).toBeLessThanOrEqual(few.rowsRead + 5)
  expect(many.rowsRead).toBeLessThan(300)
  const lines = (await read(adminKey))?.spent ?? []
  expect(lines).toHaveLength(10)
  expect(lines.map(({ spent_microusd }) => spent_microusd).slice(0, 3)).toEqual([
    20_000, 2_000, 1_999,
  ])
})

test('B8: a repair of the counters counts the spending by requester again', async () => {
  await spend(['mira'], 100)
  hub.clock.advance(4 * HOUR_MS)
  await count()
  await office.run('UPDATE requester_spending SET spent_microusd = 5')
  await office.setSpent(5)
  expect(await spentBy()).toEqual({ mira: 5 })
  await hub.call('/budgets/audit/repair', { key: adminKey, body: {} })
  expect(await spentBy()).toEqual({ mira: 100 })
  await count()
  expect(await spentBy()).toEqual({ mira: 100 })
})
