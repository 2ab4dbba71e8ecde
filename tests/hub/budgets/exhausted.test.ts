import { afterEach, beforeAll, expect, it } from 'vitest'
import { setDefinitionBudget } from '../../../src/hub/budgets/actions'
import { batch } from '../../../src/shared/db/batch'
import { signIn } from '../../web/open-pages'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, createAgent, post, renew, start } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let free: typeof ada
let paid: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  free = await createAgent('free', { floor: 0, want: 0 })
  paid = await createAgent('paid')
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(async () => {
  await office.clear()
  await office.run(`UPDATE budgets SET critical_share = 1, allows_critical = 0`)
})

/** Returns the admission of a mention of a free agent, with the given spending and limit of the hub. */
const ask = async (spent: number, limit: number) => {
  await office.setHubLimit(limit)
  await office.setSpent(spent)
  await post(ada.key, '@free')
  const { admission } = await start(free.id)
  await office.run(`UPDATE activations SET state = 'done'`)
  return admission
}
const status = async () => (await hub.call('/budgets/health')).body.status

it.each([
  [0, 0, 1],
  [5, 0, 1],
  [1_000, 1_000, 1],
  [1_001, 1_000, 1],
  [500, 1_000, 0.5],
])(
  'B3: with %i of %i spent and a critical share of %f, no agent runs, not even with a free model',
  async (spent, limit, share) => {
    await office.run(
      'UPDATE budgets SET critical_share = ?1, throttle_share = min(?1, 0.9), warning_share = min(?1, 0.8)',
      share,
    )
    expect(await ask(spent, limit)).toBe('budget_exhausted')
    expect(await status()).toBe('critical')
  },
)

it('B3 B4: a free model runs while anything is left, and never waits for reserved money', async () => {
  expect(await ask(999, 1_000)).toBe('granted')
  await office.setSpent(0)
  await office.setHubLimit(100)
  await post(ada.key, '@paid')
  expect((await start(paid.id)).reservation.microusd).toBe(100)
  await post(ada.key, '@free')
  expect((await start(free.id)).admission).toBe('granted')
})

it('B3: a free model stops before its next call when the budget is exhausted during the run', async () => {
  await post(ada.key, '@free')
  const { activationId } = await start(free.id)
  await office.setHubLimit(1_000)
  await office.setSpent(999)
  const call = { want: 0, floor: 0 }
  expect((await renew(free.id, activationId, call)).kind).toBe('renewed')
  await office.setSpent(1_000)
  expect(await renew(free.id, activationId, call)).toMatchObject({
    kind: 'refused',
    reason: 'budget_exhausted',
    shortage: { scope: 'hub', kind: 'microusd', left: 0 },
  })
})

it('B6: of two free models, the one whose budget is not exhausted is used', async () => {
  await office.run(`UPDATE agents SET models = '["near/a","far/b"]' WHERE account_id = ?`, free.id)
  await office.run(
    `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, created_at, updated_at)
     VALUES ('near', 'model', 'near/a', 'day', 0, 0, 0)`,
  )
  await office.hubApi.sweep(hub.clock.now())
  await post(ada.key, '@free')
  expect(await start(free.id)).toMatchObject({ admission: 'granted', model: 'far/b' })
  await office.run(`DELETE FROM budgets WHERE id = 'near'`)
})

it('B5: the limit of a definition can be deleted only when the definition has none; its levels are deleted too', async () => {
  const { db } = office.context()
  const set = (limit: number | null) =>
    batch(db, { budget: setDefinitionBudget(paid.id, limit, hub.clock.now()) })
  const path = `/budgets/budget:agent:${paid.id}`
  const remove = () => hub.call(path, { method: 'DELETE', key: adminKey })
  const readLevel = () =>
    office.first('SELECT 1 FROM budget_levels WHERE budget_id = ?', `budget:agent:${paid.id}`)
  await set(0)
  await set(5)
  await office.hubApi.sweep(hub.clock.now())
  expect(await readLevel()).not.toBeNull()
  expect(await remove()).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT', hint: expect.stringContaining('brain.max_cost_per_day') },
  })
  const html = await (await signIn(hub)).read(`${path}/delete`)
  expect(html).toContain('brain.max_cost_per_day')
  expect(html).not.toContain('>Delete budget</button>')
  await post(ada.key, '@paid')
  expect((await start(paid.id)).admission).toBe('budget_exhausted')
  await set(null)
  expect((await remove()).status).toBe(200)
  expect(await readLevel()).toBeNull()
})
