import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { readLimit, writeLimit } from '../../../src/hub/budgets/limit-form'
import { createBrowser, createScene, form, signIn } from './open-pages'

const { hub, mira, scout } = await createScene()
const [admin, person] = await Promise.all([signIn(hub), signIn(hub, mira.key)])
const id = `budget:agent:${scout.id}`
const path = `/budgets/${encodeURIComponent(id)}`

beforeEach(async () => {
  await env.DB.prepare(
    `INSERT OR REPLACE INTO budgets (id, scope, scope_id, period, reset_day, timezone, limit_microusd, limit_tokens, created_at, updated_at)
     VALUES (?1, 'agent', ?2, 'month', 1, 'UTC', 5000000, 900, 0, 0)`,
  )
    .bind(id, scout.id)
    .run()
})

const readRow = () =>
  env.DB.prepare('SELECT limit_microusd AS usd, limit_tokens AS tokens FROM budgets WHERE id = ?')
    .bind(id)
    .first()

test('B8: an admin sets a limit in dollars on the budgets page; the one in tokens stays', async () => {
  const html = await admin.read('/budgets')
  expect(html).toContain(`action="${path}"`)
  expect(html).toContain('value="5.00"')
  const response = await admin.send(path, { limit_dollars: ' 12.5 ' })
  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toBe(`/budgets#${encodeURIComponent(id)}`)
  expect(await readRow()).toEqual({ usd: 12_500_000, tokens: 900 })
  expect(await admin.read('/budgets')).toContain('value="12.50"')
})

test('B8: an empty field lifts the limit', async () => {
  expect((await admin.send(path, { limit_dollars: '' })).status).toBe(303)
  expect(await readRow()).toEqual({ usd: null, tokens: 900 })
})

test('B8: what is no amount is shown again with what is wrong, and changes nothing', async () => {
  for (const text of ['12,50', '-1', '1e3', '<ten>', '1000000001', '0.0000001']) {
    const response = await admin.send(path, { limit_dollars: text })
    const html = await response.text()
    expect(response.status, text).toBe(400)
    expect(html).toContain('not an amount of dollars')
    expect(html).toContain(`value="${text.replace('<', '&lt;').replace('>', '&gt;')}"`)
    expect(html.match(/<details[^>]* open/g)).toHaveLength(1)
  }
  expect(await readRow()).toEqual({ usd: 5_000_000, tokens: 900 })
})

test('B8: everybody else sees who may change a limit, and changes none', async () => {
  for (const browser of [person, createBrowser(hub)]) {
    const html = await browser.read('/budgets')
    expect(html).toContain('An admin of this hub can change the limits here.')
    expect(html).not.toContain('limit_dollars')
  }
  expect((await person.send(path, { limit_dollars: '9' })).status).toBe(403)
  expect((await createBrowser(hub).send(path, { limit_dollars: '9' })).status).toBe(401)
  expect((await admin.send('/budgets/nope', { limit_dollars: '9' })).status).toBe(404)
  const cookie = (await hub.fetch('/login', form({ key: 'test_admin_key_0123456789' }))).headers
    .get('set-cookie')
    ?.split(';')[0]
  const evil = await hub.fetch(path, {
    ...form({ limit_dollars: '9' }),
    headers: {
      cookie: cookie ?? '',
      origin: 'https://evil.example',
      'sec-fetch-site': 'cross-site',
    },
  })
  expect(evil.status).toBe(403)
  expect(await readRow()).toEqual({ usd: 5_000_000, tokens: 900 })
})

test('B8: a limit reads back as it was written, to the micro-dollar', () => {
  for (const microusd of [
    null,
    0,
    1,
    500,
    12_340_000,
    999_999_999_999_999,
    1_000_000_000_000_000,
  ]) {
    expect(readLimit(writeLimit(microusd))).toBe(microusd)
  }
})
