import { afterEach, beforeAll, expect, it } from 'vitest'
import { setDefinedBudget } from '../../../src/hub/budgets/actions'
import { createOffice } from '../activations/create-office'
import { adminKey } from '../create-test-hub'
import { signIn } from '../pages/open-pages'

const office = createOffice()
const { hub, hire, post, renew, start } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let free: typeof ada
let paid: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  free = await hire('free', { floor: 0, want: 0 })
  paid = await hire('paid')
  await office.doors.sweep(hub.clock.now())
})
afterEach(async () => {
  await office.clear()
  await office.run(`UPDATE budgets SET critical_share = 1, allows_critical = 0`)
})

/** What becomes of a mention of who costs nothing, when the hub has spent so much of so much. */
const ask = async (spent: number, limit: number) => {
  await office.setHubLimit(limit)
  await office.setSpent(spent)
  await post(ada.key, '@free')
  const { admission } = await start(free.id)
  await office.run(`UPDATE activations SET state = 'done'`)
  return admission
}
const status = async () => (await hub.call('/system/budget-health')).body.status

it.each([
  [0, 0, 1],
  [5, 0, 1],
  [1_000, 1_000, 1],
  [1_001, 1_000, 1],
  [500, 1_000, 0.5],
])(
  'B3: with %i of %i spent and a critical share of %f, nobody works, not even a model that costs nothing',
  async (spent, limit, share) => {
    await office.run(
      'UPDATE budgets SET critical_share = ?1, throttle_share = min(?1, 0.9), warning_share = min(?1, 0.8)',
      share,
    )
    expect(await ask(spent, limit)).toBe('budget_exhausted')
    expect(await status()).toBe('critical')
  },
)

it('B3 B4: a model that costs nothing goes on while anything is left, and never waits for money', async () => {
  expect(await ask(999, 1_000)).toBe('granted')
  await office.setSpent(0)
  await office.setHubLimit(100)
  await post(ada.key, '@paid')
  expect((await start(paid.id)).reservation.microusd).toBe(100)
  await post(ada.key, '@free')
  expect((await start(free.id)).admission).toBe('granted')
})

it('B3: it stops before its next call when the budget is used up while it works', async () => {
  await post(ada.key, '@free')
  const { activationId } = await start(free.id)
  await office.setHubLimit(1_000)
  await office.setSpent(999)
  const call = { want: 0, floor: 0 }
  expect((await renew(free.id, activationId, call)).kind).toBe('renewed')
  await office.setSpent(1_000)
  expect(await renew(free.id, activationId, call)).toEqual({
    kind: 'refused',
    reason: 'budget_exhausted',
  })
})

it('B6: of two models that cost nothing, the one whose budget is not used up is taken', async () => {
  await office.run(`UPDATE agents SET models = '["near/a","far/b"]' WHERE account_id = ?`, free.id)
  await office.run(
    `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, created_at, updated_at)
     VALUES ('near', 'model', 'near/a', 'day', 0, 0, 0)`,
  )
  await office.doors.sweep(hub.clock.now())
  await post(ada.key, '@free')
  expect(await start(free.id)).toMatchObject({ admission: 'granted', model: 'far/b' })
  await office.run(`DELETE FROM budgets WHERE id = 'near'`)
})

it('B5: the limit of a definition stays until the definition has none; then it goes with all that was said of it', async () => {
  const { db } = office.context()
  const set = (limit: number | null) =>
    db.d1.batch(setDefinedBudget(db, paid.id, limit, hub.clock.now()))
  const path = `/budgets/budget:agent:${paid.id}`
  const remove = () => hub.call(path, { method: 'DELETE', key: adminKey })
  const isSaid = () =>
    office.first('SELECT 1 FROM budget_levels WHERE budget_id = ?', `budget:agent:${paid.id}`)
  await set(0)
  await set(5)
  await office.doors.sweep(hub.clock.now())
  expect(await isSaid()).not.toBeNull()
  expect(await remove()).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT', hint: expect.stringContaining('brain.max_cost_per_day') },
  })
  const html = await (await signIn(hub)).read(`${path}/delete`)
  expect(html).toContain('The definition of paid sets it')
  expect(html).not.toContain('Take it away')
  await post(ada.key, '@paid')
  expect((await start(paid.id)).admission).toBe('budget_exhausted')
  await set(null)
  expect((await remove()).status).toBe(200)
  expect(await isSaid()).toBeNull()
})
