import { beforeAll, expect, it } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createOffice, usageOf } from '../runs/create-office'

const office = createOffice()
const { hub, createAgent, start, post } = office
const hubBudget = '00000000-0000-7000-8000-000000000201'
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})

const audit = () => hub.call('/budgets/audit', { key: adminKey })
const repair = () => hub.call('/budgets/audit/repair', { method: 'POST', key: adminKey })
const spend = async (microusd: number) => {
  await post(ada.key, '@scout')
  const { activationId } = await start(scout.id)
  await office.commit(scout.id, activationId, { usage: [usageOf(microusd, 2)] })
}

it('B11: the audit finds differing counters, repair corrects them from usage, and the audit log has an entry', async () => {
  for (const [scope, name] of [
    ['agent', 'scout'],
    ['community', 'general'],
    ['model', 'test/model'],
    ['provider', 'test'],
  ])
    await hub.call('/budgets', { key: adminKey, body: { scope, name, period: 'day' } })
  await spend(30)
  hub.clock.advance(86_400_000)
  await spend(12)
  expect((await audit()).body).toMatchObject({ is_consistent: true, differences: [] })
  await office.run(
    'UPDATE budget_windows SET spent_microusd = 7, spent_tokens = 9 WHERE budget_id = ? AND spent_tokens > 0',
    hubBudget,
  )
  const difference = {
    budget_id: hubBudget,
    scope: 'hub',
    starts_at: '2026-01-01T00:00:00.000Z',
    counted_microusd: 7,
    events_microusd: 42,
    counted_tokens: 9,
    events_tokens: 4,
  }
  expect((await audit()).body).toMatchObject({ is_consistent: false, differences: [difference] })
  expect((await repair()).body.repaired).toMatchObject([difference])
  expect((await audit()).body.is_consistent).toBe(true)
  expect((await repair()).body.repaired).toEqual([])
  const rows = await office.all<{ arguments: string }>(
    `SELECT l.arguments FROM audit_log l JOIN accounts a ON a.id = l.account_id
     WHERE l.tool = 'budget_repair' AND l.outcome = 'ok' AND a.role = 'admin'`,
  )
  expect(rows.map((row) => JSON.parse(row.arguments).before)).toMatchObject([
    [{ budgetId: hubBudget, countedMicrousd: 7, eventsMicrousd: 42 }],
  ])
})

it('B11: spending without a usage event, and an event that no window counted, are differences', async () => {
  await office.run(
    `UPDATE budget_windows SET spent_microusd = spent_microusd + 5 WHERE budget_id = ? AND starts_at > ?`,
    hubBudget,
    hub.clock.now(),
  )
  await office.run(`DELETE FROM usage_events WHERE cost_microusd = 12`)
  const { differences } = (await audit()).body
  expect(differences.map((each: { scope: string }) => each.scope).sort()).toEqual(
    ['hub', 'hub', 'hub', 'agent', 'community', 'model', 'provider'].sort(),
  )
  expect((await repair()).body.repaired).toHaveLength(7)
  expect((await audit()).body.is_consistent).toBe(true)
})

it('H6: a repair with an Idempotency-Key runs once, and a retry returns the same answer', async () => {
  const send = () =>
    hub.call('/budgets/audit/repair', {
      method: 'POST',
      key: adminKey,
      headers: { 'idempotency-key': 'repair-1' },
    })
  const miscount = () =>
    office.run('UPDATE budget_windows SET spent_tokens = 9 WHERE spent_tokens > 0')
  await miscount()
  const first = await send()
  expect(first.body.repaired).not.toEqual([])
  await miscount()
  expect((await send()).body).toEqual(first.body)
  expect((await audit()).body.is_consistent).toBe(false)
  await repair()
})

it('B11: only admins can audit', async () => {
  const mine = (path: string, method: 'GET' | 'POST') => hub.call(path, { method, key: ada.key })
  expect((await mine('/budgets/audit', 'GET')).status).toBe(403)
  expect((await mine('/budgets/audit/repair', 'POST')).status).toBe(403)
})

it('B11: a window created late counts the usage that the previous window had counted for it', async () => {
  const { endsAt } = (await office.first<{ endsAt: number }>(
    'SELECT max(ends_at) AS endsAt FROM budget_windows WHERE budget_id = ?',
    hubBudget,
  )) ?? { endsAt: 0 }
  await post(ada.key, '@scout')
  const { activationId } = await start(scout.id)
  hub.clock.advance(endsAt - hub.clock.now() + 40 * 86_400_000)
  await office.commit(scout.id, activationId, { usage: [usageOf(8, 1)] })
  expect((await audit()).body.is_consistent).toBe(true)
  await office.hubApi.sweep(hub.clock.now())
  expect((await audit()).body.is_consistent).toBe(true)
  const now = await office.first<{ spent: number }>(
    `SELECT spent_microusd AS spent FROM budget_windows
     WHERE budget_id = ?1 AND starts_at <= ?2 AND ends_at > ?2`,
    hubBudget,
    hub.clock.now(),
  )
  expect(now?.spent).toBe(8)
})
