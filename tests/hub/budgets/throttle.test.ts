import { afterEach, beforeAll, expect, it } from 'vitest'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, createAgent, post, run } = office
const hubBudget = '00000000-0000-7000-8000-000000000201'
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  await run(
    'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, 60000, 0)',
    scout.id,
  )
  await office.hubApi.sweep(hub.clock.now())
  await post(ada.key, 'What grows on Mars?')
  hub.clock.advance(6 * 60_000)
})
afterEach(async () => {
  await office.clear()
  await run(`DELETE FROM budgets WHERE scope <> 'hub'`)
  await run('UPDATE explorers SET explored_at = 0')
  await run(`UPDATE agents SET models = '["test/big"]'`)
})

const explore = async () => {
  const answer = await office.load(scout.id, office.newId<ActivationId>(), 50, true)
  await run(`UPDATE activations SET state = 'done', reserved_microusd = 0, reserved_tokens = 0`)
  return answer.kind === 'loaded' ? [answer.task, answer.model] : answer.kind
}
/** Creates a budget of 1,000 micro-dollars with the given spending. */
const make = async (scope: string, name: string, spent: number, more: object = {}) => {
  const body = { scope, name, period: 'day', limit_microusd: 1_000, ...more }
  const { id } = (await hub.call('/budgets', { key: adminKey, body })).body.budget
  await run('UPDATE budget_windows SET spent_microusd = ?2 WHERE budget_id = ?1', id, spent)
  return id as string
}
const change = (id: string, body: object) =>
  hub.call(`/budgets/${id}`, { method: 'PATCH', key: adminKey, body })

it('B3: exploration pauses at the throttle share of a budget of any scope', async () => {
  await run(`UPDATE agents SET models = '["test/big"]'`)
  for (const [scope, name] of [
    ['agent', 'scout'],
    ['model', 'test/big'],
    ['provider', 'test'],
  ] as const) {
    const id = await make(scope, name, 900)
    expect(await explore(), scope).toBe('nothing')
    await change(id, { throttle_share: 0.95 })
    expect(await explore(), scope).toEqual(['exploration', 'test/big'])
    await run('UPDATE explorers SET explored_at = 0')
    await change(id, { warning_share: 0.5, throttle_share: 0.6, limit_microusd: 1_499 })
    expect(await explore(), scope).toBe('nothing')
    await run('DELETE FROM budgets WHERE id = ?', id)
  }
})

it('B3: mentions are still answered beyond the throttle share', async () => {
  await make('agent', 'scout', 950)
  await post(ada.key, '@scout')
  expect((await office.start(scout.id)).reservation.microusd).toBe(50)
})

it('B3 B6: with one of two models throttled the other is used for exploration', async () => {
  await run(`UPDATE agents SET models = '["test/big","far/one"]'`)
  await make('model', 'test/big', 900, {
    limit_microusd: 1_000_000,
    throttle_share: 0.0005,
    warning_share: 0,
  })
  await make('model', 'far/one', 10, { limit_microusd: 100 })
  expect(await explore()).toEqual(['exploration', 'far/one'])
  await make('provider', 'far', 950)
  expect(await explore()).toBe('nothing')
})

it('B3: the sweep reports that the hub is beyond its throttle share', async () => {
  const isThrottled = async () => {
    const question = { since: 0, until: 0, after: null }
    const report = await office.hubApi.sweep(hub.clock.now(), question as never)
    return report.exploration?.isThrottled
  }
  await office.setHubLimit(1_000)
  await office.setSpent(850)
  expect(await isThrottled()).toBe(false)
  await change(hubBudget, { throttle_share: 0.85 })
  expect(await isThrottled()).toBe(true)
  await change(hubBudget, { throttle_share: 0.9 })
})
