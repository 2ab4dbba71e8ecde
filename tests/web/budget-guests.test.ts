import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createScene, signIn } from './open-pages'

const { hub } = await createScene()
const admin = await signIn(hub)
const guestsId = '00000000-0000-7000-8000-000000000202'
const path = `/budgets/${guestsId}`

/** The form of the budget of guests, as a browser sends it. */
const changed = {
  limit_dollars: '2.01',
  limit_tokens: '',
  warning_percent: '80',
  throttle_percent: '90',
  critical_percent: '100',
}
const fresh = { scope: 'guests', name: '', period: 'month', reset_day: '1', timezone: 'UTC' }
const error =
  '<p class="bad" id="limit_dollars-wrong">At most $2.00 (2000000 micro-dollars), a tenth of the hub’s monthly budget.</p>'

const readLimit = () =>
  env.DB.prepare('SELECT limit_microusd AS usd FROM budgets WHERE id = ?').bind(guestsId).first()

test('T3: a limit of guests above a tenth of the hub’s is refused at its field', async () => {
  const refused = await admin.send(path, changed)
  expect(refused.status).toBe(400)
  const html = await refused.text()
  expect(html).toContain(error)
  expect(html).toContain('value="2.01"')
  expect(await readLimit()).toEqual({ usd: 2_000_000 })
  expect((await admin.send(path, { ...changed, limit_dollars: '1.50' })).status).toBe(303)
  expect(await readLimit()).toEqual({ usd: 1_500_000 })
})

test('T3: the form of a new budget of guests refuses it, too', async () => {
  await env.DB.prepare('DELETE FROM budgets WHERE id = ?').bind(guestsId).run()
  const refused = await admin.send('/budgets/new', { ...fresh, ...changed })
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain(error)
})
