import fc from 'fast-check'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { ActivationId } from '../../../src/shared/ids'
import { createOffice, usageOf } from '../activations/create-office'
import { adminKey } from '../create-test-hub'

const office = createOffice()
const { hub, createAgent, start, post, comment } = office
type Account = Awaited<ReturnType<typeof hub.join>>
const people: Record<string, Account> = {}
const agents: Account[] = []
const get = (name: string): Account => people[name] ?? ({ id: '', key: '', name: '' } as Account)

beforeAll(async () => {
  for (const name of ['mira', 'ada', 'ben']) people[name] = await hub.join(name, 'human')
  people.kit = await hub.join('kit')
  await office.run('UPDATE accounts SET owner_id = ?1 WHERE id = ?2', get('mira').id, get('kit').id)
  const { body } = await hub.call('/agents/register', { body: { name: 'gus' } })
  people.gus = { id: body.agent.id, key: body.agent.api_key, name: 'gus' }
  for (const name of ['scout', 'finch', 'lark']) agents.push(await createAgent(name))
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  await office.clear()
  await office.run(`DELETE FROM budgets WHERE scope = 'requester' OR scope LIKE 'role:%'`)
  await office.run('DELETE FROM budget_account_windows')
  await office.run(
    `UPDATE accounts SET role = 'member' WHERE name IN ('mira', 'ada', 'ben', 'kit')`,
  )
})

const createBudget = async (body: object): Promise<string> => {
  const answer = await hub.call('/budgets', { key: adminKey, body: { period: 'month', ...body } })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body.budget.id
}
const spentOf = async (budgetId: string, name: string): Promise<number> =>
  (
    await office.first<{ n: number }>(
      'SELECT total(spent_microusd) AS n FROM budget_account_windows WHERE budget_id = ? AND account_id = ?',
      budgetId,
      get(name).id,
    )
  )?.n ?? -1
const readDifferences = async () =>
  (await hub.call('/system/budget-audit', { key: adminKey })).body.differences
const [scout, finch] = [() => agents[0] as Account, () => agents[1] as Account]
const spend = async (by: string, cost: number, agent = scout()) => {
  await post(get(by).key, `@${agent.name} please`)
  const { activationId } = await start(agent.id)
  await office.commit(agent.id, activationId, { usage: [usageOf(cost, 3)] })
}

test('T3: each member may spend the limit; whoever used it up is refused, others are served', async () => {
  await createBudget({ scope: 'role:member', limit_microusd: 50 })
  await post(get('mira').key, '@scout one')
  const first = await start(scout().id)
  expect(first.reservation.microusd).toBe(50)
  await office.commit(scout().id, first.activationId, { usage: [usageOf(50, 3)] })
  await post(get('mira').key, '@scout two')
  const second = await start(scout().id)
  expect(second).toMatchObject({
    admission: 'budget_exhausted',
    shortage: { scope: 'role:member', period: 'month', left: 0 },
  })
  expect(second).toHaveProperty('shortage.resetsAt', expect.any(Number))
  await office.commit(scout().id, second.activationId, { usage: [] })
  await post(get('ada').key, '@scout three')
  expect((await start(scout().id)).reservation.microusd).toBe(50)
  // a guest has no budget of members
  await post(get('gus').key, '@finch four')
  expect((await start(finch().id)).reservation.microusd).toBe(100)
})

test('T3: what one run holds of a member, another agent cannot reserve', async () => {
  await createBudget({ scope: 'role:member', limit_microusd: 105 })
  await post(get('mira').key, '@scout and @finch')
  expect((await start(scout().id)).reservation.microusd).toBe(100)
  expect(await office.load(finch().id)).toMatchObject({ kind: 'wait', reason: 'money_reserved' })
  await post(get('ada').key, '@lark')
  expect((await start(agents[2]?.id ?? finch().id)).reservation.microusd).toBe(100)
})

test('T3: a budget of one account replaces that of its role, and deleting it restores that', async () => {
  const role = await createBudget({ scope: 'role:member', limit_microusd: 40 })
  const own = await createBudget({ scope: 'requester', name: 'ben', limit_microusd: 90 })
  await post(get('ben').key, '@scout')
  const first = await start(scout().id)
  expect(first.reservation.microusd).toBe(90)
  expect(first.budgets.map(({ scope }) => scope)).not.toContain('role:member')
  await office.commit(scout().id, first.activationId, { usage: [usageOf(60, 3)] })
  expect(await spentOf(role, 'ben')).toBe(60)
  await hub.call(`/budgets/${own}`, { key: adminKey, method: 'DELETE' })
  await post(get('ben').key, '@scout')
  expect((await start(scout().id)).admission).toBe('budget_exhausted')
  expect(await readDifferences()).toEqual([])
})

test('T3 T8: an agent spends from the budget of the member who claimed it, too', async () => {
  const id = await createBudget({ scope: 'role:member', limit_microusd: 70 })
  await spend('kit', 70)
  expect([await spentOf(id, 'kit'), await spentOf(id, 'mira')]).toEqual([70, 70])
  await post(get('mira').key, '@scout')
  expect((await start(scout().id)).shortage).toMatchObject({ scope: 'role:member' })
})

test('T3: the window of the role at the claim pays, also when the role changes during the run', async () => {
  const member = await createBudget({ scope: 'role:member', limit_microusd: 1_000 })
  const guest = await createBudget({ scope: 'role:guest', limit_microusd: 30 })
  await post(get('ada').key, '@scout')
  const { activationId } = await start(scout().id)
  await office.run(`UPDATE accounts SET role = 'guest' WHERE name = 'ada'`)
  await office.commit(scout().id, activationId, { usage: [usageOf(80, 3)] })
  expect([await spentOf(member, 'ada'), await spentOf(guest, 'ada')]).toEqual([80, 0])
  await post(get('ada').key, '@scout')
  const second = await start(scout().id)
  expect(second.reservation.microusd).toBe(30)
  await office.commit(scout().id, second.activationId, { usage: [usageOf(20, 3)] })
  expect([await spentOf(member, 'ada'), await spentOf(guest, 'ada')]).toEqual([80, 20])
  expect(await readDifferences()).toEqual([])
})

test('T3: an item of a requester whose budget has no room waits for a run of its own', async () => {
  await createBudget({ scope: 'role:member', limit_microusd: 150 })
  await spend('ada', 100)
  const id = await post(get('mira').key, '@scout')
  await comment(get('ada').key, id, '@scout me too')
  await comment(get('ben').key, id, '@scout me too')
  const first = await start(scout().id)
  expect(first.requesters.map(({ name }) => name).sort()).toEqual(['ben', 'mira'])
  await office.commit(scout().id, first.activationId, { usage: [] })
  const second = await start(scout().id)
  expect(second.requesters.map(({ name }) => name)).toEqual(['ada'])
  expect(second.reservation.microusd).toBe(50)
})

test('T3: a refusal of one requester answers nobody else', async () => {
  await createBudget({ scope: 'role:member', limit_microusd: 50 })
  await spend('mira', 50)
  const id = await post(get('mira').key, '@scout')
  await comment(get('ada').key, id, '@scout me too')
  const first = await start(scout().id)
  expect(first).toMatchObject({ admission: 'budget_exhausted' })
  expect(first.requesters.map(({ name }) => name)).toEqual(['mira'])
  await office.commit(scout().id, first.activationId, { usage: [] })
  expect(await start(scout().id)).toMatchObject({ admission: 'granted' })
})

test('B11 T3: a new budget counts the period so far, and repair corrects the windows of accounts', async () => {
  await spend('ada', 33)
  await spend('kit', 9)
  const id = await createBudget({ scope: 'role:member', limit_microusd: 1_000 })
  expect([await spentOf(id, 'ada'), await spentOf(id, 'kit'), await spentOf(id, 'mira')]).toEqual([
    33, 9, 9,
  ])
  await office.run(
    'UPDATE budget_account_windows SET spent_microusd = 1 WHERE account_id = ?',
    get('ada').id,
  )
  await office.run('DELETE FROM budget_account_windows WHERE account_id = ?', get('kit').id)
  const differences = await readDifferences()
  expect(
    differences
      .map((each: { account_id: string; events_microusd: number }) => [
        each.account_id,
        each.events_microusd,
      ])
      .sort(),
  ).toEqual(
    [
      [get('ada').id, 33],
      [get('kit').id, 9],
    ].sort(),
  )
  await hub.call('/system/budget-audit/repair', { method: 'POST', key: adminKey })
  expect(await readDifferences()).toEqual([])
  expect([await spentOf(id, 'ada'), await spentOf(id, 'kit')]).toEqual([33, 9])
})

test('T3 B9: the API shows how many accounts have spent, to admins the greatest, and names nobody in the report', async () => {
  const since = hub.clock.now()
  const id = await createBudget({ scope: 'role:member', limit_microusd: 100 })
  await spend('ada', 100)
  await spend('ben', 40)
  const read = async (key: string) =>
    (await hub.call('/budgets', { key })).body.budgets.find(
      (each: { id: string }) => each.id === id,
    )
  const shown = await read(adminKey)
  expect(shown).toMatchObject({ spent_microusd: 100, share_used: 1, status: 'critical' })
  expect(shown.accounts).toMatchObject({
    count: 2,
    used_up: 1,
    top: [
      { name: 'ada', spent_microusd: 100 },
      { name: 'ben', spent_microusd: 40 },
    ],
  })
  expect((await read(get('ada').key)).accounts).toEqual({ count: 2, used_up: 1, top: [] })
  const health = await hub.call('/system/budget-health', { key: adminKey })
  expect(health.body.status).toBe('healthy')
  for (let sweeps = 0; sweeps < 3; sweeps++) {
    hub.clock.advance(1)
    await office.hubApi.sweep(hub.clock.now())
  }
  const reports = await office.all<{ title: string; content: string }>(
    `SELECT title, content FROM posts WHERE title LIKE '%budget per member' AND created_at > ?`,
    since,
  )
  expect(reports.map(({ title }) => title)).toEqual([
    'A member has used up the monthly budget per member',
  ])
  expect(JSON.stringify(reports)).not.toContain('ada')
  await hub.call(`/budgets/${id}`, { key: adminKey, method: 'DELETE' })
  expect(await office.all('SELECT 1 FROM budget_account_windows')).toEqual([])
})

test('T4: a refusal for too little is shown at the budget of the role', async () => {
  const id = await createBudget({ scope: 'role:member', limit_microusd: 100 })
  await post(get('ada').key, '@scout')
  const { activationId } = await start(scout().id)
  await office.commit(scout().id, activationId, {
    usage: [usageOf(70, 3)],
    refusedCall: { microusd: 31, tokens: 1 },
  })
  const { body } = await hub.call('/system/budget-health', { key: adminKey })
  const shown = body.budgets.find((each: { id: string }) => each.id === id)
  expect(shown).toMatchObject({
    status: 'critical',
    needed_microusd: 31,
    accounts: { used_up: 1 },
    forecast: { state: 'exhausted' },
  })
})

const names = ['mira', 'ada', 'ben', 'kit', 'gus'] as const
const asked = fc.record({
  by: fc.constantFrom(...names),
  to: fc.integer({ min: 0, max: 2 }),
  /** Others who ask in the same thread. */
  also: fc.subarray(['mira', 'ada', 'ben'] as const),
})
const plan = fc.record({
  limits: fc.array(fc.integer({ min: 20, max: 400 }), { minLength: 4, maxLength: 4 }),
  asks: fc.array(asked, { minLength: 3, maxLength: 8 }),
  shares: fc.array(fc.constantFrom(0, 0.3, 0.9, 1), { minLength: 3, maxLength: 6 }),
  demotes: fc.constantFrom(null, 'ada', 'ben'),
  hasOwn: fc.boolean(),
})
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

interface Run {
  activationId: ActivationId
  roles: Record<string, string>
  reserved: number
  spent: number
  calls: number[]
}

test('T3: however runs of several accounts interleave, no account exceeds its window, and the windows add up to the usage', async () => {
  let refusals = 0
  let calls = 0
  const play = async ({ limits, asks, shares, demotes, hasOwn }: Plan) => {
    await office.clear()
    await office.run(`DELETE FROM budgets WHERE scope = 'requester' OR scope LIKE 'role:%'`)
    await office.run('DELETE FROM budget_account_windows')
    await office.run(`UPDATE accounts SET role = 'member' WHERE name IN ('ada', 'ben')`)
    const [month = 0, day = 0, guest = 0, own = 0] = limits
    const budgets = [
      {
        id: await createBudget({ scope: 'role:member', limit_microusd: month }),
        role: 'member',
        limit: month,
      },
      {
        id: await createBudget({ scope: 'role:member', period: 'day', limit_microusd: day }),
        role: 'member',
        limit: day,
      },
      {
        id: await createBudget({ scope: 'role:guest', limit_microusd: guest }),
        role: 'guest',
        limit: guest,
      },
    ]
    if (hasOwn) await createBudget({ scope: 'requester', name: 'ben', limit_microusd: own })
    for (const { by, to, also } of asks) {
      const agent = agents[to]?.name
      const id = await post(get(by).key, `@${agent} please`)
      for (const other of also) await comment(get(other).key, id, `@${agent} me too`)
    }
    const expected = new Map<string, number>()
    const running = new Map<string, Run>()
    const readRoles = async () =>
      Object.fromEntries(
        (await office.all<{ id: string; role: string }>('SELECT id, role FROM accounts')).map(
          ({ id, role }) => [id, role],
        ),
      )
    let turn = 0
    const settle = async (agent: Account, run: Run) => {
      const row = await office.first<{ requesters: string }>(
        'SELECT requesters FROM activations WHERE id = ?',
        run.activationId,
      )
      const ids: string[] = JSON.parse(row?.requesters ?? '[]')
      for (const cost of run.calls)
        for (const [at, id] of ids.entries()) {
          const part = Math.floor(cost / ids.length) + (at === 0 ? cost % ids.length : 0)
          const payers = id === get('kit').id ? [id, get('mira').id] : [id]
          for (const payer of payers)
            for (const budget of budgets.filter(({ role }) => role === run.roles[payer])) {
              const key = `${budget.id} ${payer}`
              expected.set(key, (expected.get(key) ?? 0) + part)
            }
        }
      await office.commit(agent.id, run.activationId, {
        usage: run.calls.map((cost, index) => ({ ...usageOf(cost, 1), call: index + 1 })),
      })
    }
    const work = async (agent: Account): Promise<void> => {
      const run = running.get(agent.id)
      if (!run) {
        const roles = await readRoles()
        const activationId = office.newId<ActivationId>()
        const answer = await office.load(agent.id, activationId)
        if (answer.kind !== 'loaded') return
        const begun: Run = {
          activationId,
          roles,
          reserved: answer.reservation.microusd,
          spent: 0,
          calls: [],
        }
        if (answer.admission === 'granted') running.set(agent.id, begun)
        else {
          refusals += 1
          await settle(agent, begun)
        }
        return
      }
      const cost = Math.floor((shares[turn++ % shares.length] ?? 0) * Math.min(100, run.reserved))
      run.calls.push(cost)
      run.spent += cost
      calls += 1
      const again =
        run.calls.length < 2
          ? await office.renew(agent.id, run.activationId, { spent: run.spent })
          : null
      if (again?.kind === 'renewed') {
        run.reserved = again.reservation.microusd
        return
      }
      running.delete(agent.id)
      await settle(agent, run)
    }
    const check = async () => {
      const rows = await office.all<{ budget: string; account: string; sum: number }>(
        `SELECT b.id AS budget, a.id AS account,
           (SELECT total(spent_microusd) FROM budget_account_windows v WHERE v.budget_id = b.id AND v.account_id = a.id)
           + (SELECT total(x.reserved_microusd) FROM activations x, json_each(x.payers) p
              WHERE x.state = 'running' AND p.key = a.id AND 'role:' || (p.value ->> 'role') = b.scope) AS sum
         FROM budgets b, accounts a WHERE b.scope LIKE 'role:%'
           AND NOT EXISTS (SELECT 1 FROM budgets o WHERE o.scope = 'requester' AND o.scope_id = a.id)`,
      )
      for (const { budget, account, sum } of rows) {
        const limit = budgets.find(({ id }) => id === budget)?.limit ?? 0
        expect(sum, `spent and reserved of ${account}`).toBeLessThanOrEqual(limit)
      }
    }
    for (let round = 0; round < 60; round++) {
      if (round === 2 && demotes)
        await office.run(`UPDATE accounts SET role = 'guest' WHERE name = ?`, demotes)
      hub.clock.advance(1)
      await Promise.all([...agents.map(work), check()])
      await check()
      const waiting = await office.first<{ n: number }>(
        'SELECT count(*) AS n FROM inbox_items WHERE read_at IS NULL AND is_task = 1',
      )
      if (running.size === 0 && waiting?.n === 0) break
      expect(round, 'runs wait for each other').toBeLessThan(59)
    }
    const counted = await office.all<{ key: string; spent: number }>(
      `SELECT budget_id || ' ' || account_id AS key, sum(spent_microusd) AS spent FROM budget_account_windows
       GROUP BY 1 HAVING sum(spent_microusd) > 0 ORDER BY 1`,
    )
    const wanted = [...expected]
      .filter(([, spent]) => spent > 0)
      .map(([key, spent]) => ({ key, spent }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    expect(counted).toEqual(wanted)
    expect(await readDifferences()).toEqual([])
  }
  await fc.assert(fc.asyncProperty(plan, play), { numRuns: 10, endOnFailure: true })
  expect(refusals, 'refused runs').toBeGreaterThan(3)
  expect(calls, 'calls').toBeGreaterThan(20)
}, 180_000)
