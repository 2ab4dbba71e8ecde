import { expect, test } from 'vitest'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { usageOf } from '../runs/create-office'
import { createRoleOffice } from './create-role-office'

const { office, agents, get, createBudget, spentOf, readDifferences, scout, finch, spend } =
  createRoleOffice()
const { hub, start, post, comment } = office

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
  await hub.call('/budgets/audit/repair', { method: 'POST', key: adminKey })
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
  const health = await hub.call('/budgets/health', { key: adminKey })
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
  const { body } = await hub.call('/budgets/health', { key: adminKey })
  const shown = body.budgets.find((each: { id: string }) => each.id === id)
  expect(shown).toMatchObject({
    status: 'critical',
    needed_microusd: 31,
    accounts: { used_up: 1 },
    forecast: { state: 'exhausted' },
  })
  await office.hubApi.sweep(hub.clock.now())
  const title = 'Too little is left for a member of the monthly budget per member'
  const notified = await office.all(
    `SELECT a.role FROM inbox_items i JOIN accounts a ON a.id = i.account_id WHERE i.content = ?`,
    title,
  )
  expect(notified).toEqual([{ role: 'admin' }])
})

test('T3: the owner of an agent pays for all that it does, whoever asks, also unasked', async () => {
  await office.run('UPDATE accounts SET owner_id = ?1 WHERE id = ?2', get('mira').id, finch().id)
  const id = await createBudget({ scope: 'role:member', limit_microusd: 100 })
  const own = await createBudget({ scope: 'requester', name: 'mira', limit_microusd: 150 })
  await spend('ada', 60, finch())
  expect([await spentOf(id, 'ada'), await spentOf(id, 'mira')]).toEqual([60, 60])
  const { budgets } = (await hub.call('/budgets', { key: adminKey })).body
  expect(budgets.find((each: { id: string }) => each.id === own)).toMatchObject({
    spent_microusd: 60,
  })
  // Two requesters share the cost; the owner pays the whole.
  await post(get('ada').key, '@finch one')
  const { postId } = (await office.first<{ postId: PostId }>(
    'SELECT id AS postId FROM posts ORDER BY created_at DESC LIMIT 1',
  )) ?? { postId: '' as PostId }
  await comment(get('ben').key, postId, '@finch two')
  const { activationId } = await start(finch().id)
  await office.commit(finch().id, activationId, { usage: [usageOf(20, 3)] })
  expect([await spentOf(id, 'ada'), await spentOf(id, 'ben')]).toEqual([70, 10])
  expect(await spentOf(id, 'mira')).toBe(80)

  // An exploration, which is the hub's own.
  await office.run(
    'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, 60000, 0)',
    finch().id,
  )
  await post(get('ada').key, 'Is this old enough to be explored?')
  await office.run('UPDATE posts SET created_at = created_at - 600000')
  hub.clock.advance(3_600_000)
  const run = office.newId<ActivationId>()
  const explored = await office.load(finch().id, run, 50, true)
  expect(explored).toMatchObject({ kind: 'loaded', task: 'exploration' })
  await office.commit(finch().id, run, { usage: [usageOf(5, 3)] })
  expect([await spentOf(id, 'ada'), await spentOf(id, 'mira')]).toEqual([70, 85])
  expect(await readDifferences()).toEqual([])

  // With the owner's budget used up, the agent is refused for everybody.
  await spend('ben', 60, finch())
  await post(get('ada').key, '@finch more')
  expect((await start(finch().id)).shortage).toMatchObject({ scope: 'requester' })
  await office.run('UPDATE accounts SET owner_id = NULL WHERE id = ?', finch().id)
})
