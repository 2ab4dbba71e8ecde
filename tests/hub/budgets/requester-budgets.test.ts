import fc from 'fast-check'
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { ActivationId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import { adminKey } from '../create-test-hub'
import { createOffice, usageOf } from '../runs/create-office'

const office = createOffice()
const { hub, createAgent, load, start, post, comment } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let ada: Account
let ben: Account
let scout: Account

async function register(name: string): Promise<Account> {
  const { body } = await hub.call('/accounts', { body: { name } })
  return { id: body.account.id, key: body.account.api_key, name }
}

const createBudget = async (body: object): Promise<string> => {
  const whole = { period: 'month', ...body }
  const answer = await hub.call('/budgets', { key: adminKey, body: whole })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body.budget.id
}
const spentOf = async (id: string): Promise<number> => {
  const row = await office.first<{ spent: number }>(
    'SELECT sum(spent_microusd) AS spent FROM budget_windows WHERE budget_id = ?',
    id,
  )
  return row?.spent ?? -1
}
const guestsId = '00000000-0000-7000-8000-000000000202'

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  ada = await hub.join('ada', 'human')
  ben = await hub.join('ben', 'human')
  scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(async () => {
  await office.clear()
  await office.run(`DELETE FROM budgets WHERE scope = 'requester'`)
  await office.run(`UPDATE budgets SET limit_microusd = 2000000 WHERE scope = 'guests'`)
})

test('T3: a requester who used up a budget is refused by any agent; others are served', async () => {
  const id = await createBudget({ scope: 'requester', name: 'mira', limit_microusd: 50 })
  await post(mira.key, '@scout one')
  const first = await start(scout.id)
  expect(first.reservation.microusd).toBe(50)
  await office.commit(scout.id, first.activationId, { usage: [usageOf(50, 3)] })
  expect(await spentOf(id)).toBe(50)
  await post(mira.key, '@scout two')
  const second = await start(scout.id)
  expect(second).toMatchObject({ admission: 'budget_exhausted', shortage: { scope: 'requester' } })
  await office.commit(scout.id, second.activationId, { usage: [] })
  await post(ada.key, '@scout three')
  expect((await start(scout.id)).admission).toBe('granted')
})

test('T3: a budget of which less is left than the first call of any agent takes is critical once it refused a run', async () => {
  await office.run('UPDATE agents SET call_floor_microusd = 60 WHERE account_id = ?', scout.id)
  const id = await createBudget({ scope: 'requester', name: 'mira', limit_microusd: 50 })
  await post(mira.key, '@scout one')
  const { activationId, admission } = await start(scout.id)
  expect(admission).toBe('budget_exhausted')
  const refusedCall = { microusd: 1, tokens: 1 }
  await office.commit(scout.id, activationId, { outcome: 'budget_exhausted', refusedCall })
  const { body } = await hub.call('/budgets', { key: adminKey })
  const shown = body.budgets.find((each: { id: string }) => each.id === id)
  expect(shown).toMatchObject({ status: 'critical' })
})

test('T3: all guests together have a budget of their own, and members do not pay it', async () => {
  expect(await office.first('SELECT limit_microusd FROM budgets WHERE id = ?', guestsId)).toEqual({
    limit_microusd: 2_000_000,
  })
  await office.run(`UPDATE budgets SET limit_microusd = 60 WHERE id = ?`, guestsId)
  const [one, two] = [await register('one'), await register('two')]
  await post(one.key, '@scout hello')
  const first = await start(scout.id)
  await office.commit(scout.id, first.activationId, { usage: [usageOf(60, 3)] })
  expect(await spentOf(guestsId)).toBe(60)
  await post(two.key, '@scout hello')
  const second = await start(scout.id)
  expect(second).toMatchObject({ admission: 'budget_exhausted', shortage: { scope: 'guests' } })
  await office.commit(scout.id, second.activationId, { usage: [] })
  await post(ada.key, '@scout hello')
  const third = await start(scout.id)
  expect(third.admission).toBe('granted')
  await office.commit(scout.id, third.activationId, { usage: [usageOf(30, 3)] })
  expect(await spentOf(guestsId)).toBe(60)
})

test('T3: what one run holds of a guest, another agent cannot spend', async () => {
  const finch = await createAgent('finch', { floor: 10, want: 100 })
  await office.run(`UPDATE budgets SET limit_microusd = 105 WHERE id = ?`, guestsId)
  const guest = await register('three')
  await post(guest.key, '@scout and @finch')
  expect((await start(scout.id)).reservation.microusd).toBe(100)
  expect(await load(finch.id)).toMatchObject({ kind: 'wait', reason: 'money_reserved' })
})

test('T1 T3: requesters of one run share its cost; recounting and the audit agree', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 97 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 3 }),
      async (costs, people) => {
        const members = [mira, ada, ben].slice(0, people)
        const ids: string[] = []
        for (const { name } of members)
          ids.push(await createBudget({ scope: 'requester', name, limit_microusd: 10_000 }))
        const id = await post(mira.key, '@scout')
        for (const { key } of members.slice(1)) await comment(key, id, '@scout me too')
        const { activationId, requesters } = await start(scout.id)
        expect(requesters).toHaveLength(people)
        await office.commit(scout.id, activationId as ActivationId, {
          usage: costs.map((cost, index) => ({ ...usageOf(cost, 3), call: index + 1 })),
        })
        const spent = await Promise.all(ids.map(spentOf))
        const total = costs.reduce((sum, cost) => sum + cost, 0)
        expect(spent.reduce((sum, each) => sum + each, 0)).toBe(total)
        const share = costs.reduce((sum, cost) => sum + Math.floor(cost / people), 0)
        expect([...spent].sort((a, b) => a - b).slice(0, -1)).toEqual(Array(people - 1).fill(share))
        const audit = await hub.call('/budgets/audit', { key: adminKey })
        const ours = (audit.body.differences as { budget_id: string }[]).filter((each) =>
          ids.includes(each.budget_id),
        )
        expect(ours).toEqual([])
        await office.clear()
        await office.run(`DELETE FROM budgets WHERE scope = 'requester'`)
      },
    ),
    { numRuns: sampleSize(4, 12) },
  )
})

test('T3 T8: the budget of a member pays for the agents that they claimed, too', async () => {
  const kinds = ['mira', 'ada', 'of mira', 'also of mira', 'of ada'] as const
  const claimed: Record<string, Account> = {}
  for (const [name, owner] of [
    ['kit', mira],
    ['kat', mira],
    ['kot', ada],
  ] as const) {
    const agent = await hub.join(name)
    await office.run('UPDATE accounts SET owner_id = ?1 WHERE id = ?2', owner.id, agent.id)
    claimed[name] = agent
  }
  const { kit = mira, kat = mira, kot = mira } = claimed
  const accounts = { mira, ada, 'of mira': kit, 'also of mira': kat, 'of ada': kot }
  const ownerOf = (kind: (typeof kinds)[number]) => (kind.endsWith('mira') ? mira : ada)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 97 }), { minLength: 1, maxLength: 3 }),
      // A third agent in a thread would reach the reply limit.
      fc
        .uniqueArray(fc.constantFrom(...kinds), { minLength: 1, maxLength: 5 })
        .filter((asking) => asking.filter((kind) => kind.includes('of ')).length < 3),
      async (costs, asking) => {
        const budgets = new Map<string, string>()
        for (const { name } of [mira, ada, kit])
          budgets.set(
            name,
            await createBudget({ scope: 'requester', name, limit_microusd: 10_000 }),
          )
        const [first, ...others] = asking.map((kind) => accounts[kind])
        const id = await post(first?.key ?? '', '@scout')
        for (const { key } of others) await comment(key, id, '@scout me too')
        const { activationId, requesters } = await start(scout.id)
        expect(requesters).toHaveLength(asking.length)
        const order = requesters.map((each) => each.id)
        await office.commit(scout.id, activationId as ActivationId, {
          usage: costs.map((cost, index) => ({ ...usageOf(cost, 3), call: index + 1 })),
        })
        const shareOf = (accountId: string) =>
          costs.reduce((sum, cost) => {
            const rest = order[0] === accountId ? cost % asking.length : 0
            return sum + Math.floor(cost / asking.length) + rest
          }, 0)
        const paidBy = (owner: Account) =>
          asking
            .filter((kind) => ownerOf(kind) === owner)
            .reduce((sum, kind) => sum + shareOf(accounts[kind].id), 0)
        expect(await spentOf(budgets.get('mira') ?? '')).toBe(paidBy(mira))
        expect(await spentOf(budgets.get('ada') ?? '')).toBe(paidBy(ada))
        const own = asking.includes('of mira') ? shareOf(kit.id) : 0
        expect(await spentOf(budgets.get('kit') ?? '')).toBe(own)
        const audit = await hub.call('/budgets/audit', { key: adminKey })
        const ours = (audit.body.differences as { budget_id: string }[]).filter((each) =>
          [...budgets.values()].includes(each.budget_id),
        )
        expect(ours).toEqual([])
        await office.clear()
        await office.run(`DELETE FROM budgets WHERE scope = 'requester'`)
      },
    ),
    { numRuns: sampleSize(4, 12) },
  )
})

test('T3 T8: an agent is refused when the budget of its owner is used up', async () => {
  const agent = await hub.join('kite')
  await office.run('UPDATE accounts SET owner_id = ?1 WHERE id = ?2', mira.id, agent.id)
  await createBudget({ scope: 'requester', name: 'mira', limit_microusd: 50 })
  await post(mira.key, '@scout one')
  const first = await start(scout.id)
  await office.commit(scout.id, first.activationId, { usage: [usageOf(50, 3)] })
  await post(agent.key, '@scout two')
  expect(await start(scout.id)).toMatchObject({
    admission: 'budget_exhausted',
    shortage: { scope: 'requester' },
  })
})

test('T3: a budget of a requester needs a name, one of the guests has none', async () => {
  const create = (body: object) =>
    hub.call('/budgets', { key: adminKey, body: { period: 'day', limit_microusd: 1, ...body } })
  expect((await create({ scope: 'requester' })).status).toBe(400)
  expect((await create({ scope: 'requester', name: 'nobody-here' })).status).toBe(404)
  expect((await create({ scope: 'guests', name: 'ada' })).status).toBe(400)
  const made = await create({ scope: 'requester', name: 'ada' })
  expect(made.body.budget).toMatchObject({ scope: 'requester', requester: { name: 'ada' } })
})
