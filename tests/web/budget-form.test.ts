import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { budgetFields } from '../../src/web/budgets/budget-edit-page'
import { createBrowser, createScene, form, signIn } from './open-pages'

const { hub, mira, scout } = await createScene()
const [admin, person] = await Promise.all([signIn(hub), signIn(hub, mira.key)])
const id = `budget:agent:${scout.id}`
const path = `/budgets/${encodeURIComponent(id)}`
const hubPath = '/budgets/00000000-0000-7000-8000-000000000201'

/** The form of a budget, as a browser sends it. */
const changed = {
  limit_dollars: '5.00',
  limit_tokens: '900',
  warning_percent: '80',
  throttle_percent: '90',
  critical_percent: '100',
}
const fresh = {
  scope: 'agent',
  name: scout.name,
  period: 'week',
  reset_day: '1',
  timezone: 'UTC',
  ...changed,
}

beforeEach(async () => {
  await env.DB.batch([
    env.DB.prepare(`DELETE FROM budgets WHERE id <> '00000000-0000-7000-8000-000000000201'`),
    env.DB.prepare(
      `INSERT INTO budgets (id, scope, scope_id, period, reset_day, timezone, limit_microusd, limit_tokens, created_at, updated_at)
       VALUES (?1, 'agent', ?2, 'month', 1, 'UTC', 5000000, 900, 0, 0)`,
    ).bind(id, scout.id),
  ])
})

const readRow = (of = id) =>
  env.DB.prepare('SELECT limit_microusd AS usd, limit_tokens AS tokens FROM budgets WHERE id = ?')
    .bind(of)
    .first()

const readNew = async () => {
  const { results } = await env.DB.prepare(
    `SELECT scope, scope_id, period, reset_day, timezone, limit_microusd, limit_tokens, warning_share,
       throttle_share, critical_share, allows_critical, made_by FROM budgets
     WHERE id NOT IN (?, '00000000-0000-7000-8000-000000000201')`,
  )
    .bind(id)
    .all()
  return results
}

/** The errors of invalid fields, by field name. */
const listWrong = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<(?:input|select) [^>]*aria-invalid="true"[^>]*>/g)].map(([field]) => {
      const [, name = ''] = / name="(\w+)"/.exec(field) ?? []
      expect(field).toContain(`aria-describedby="${name}-wrong`)
      const said = new RegExp(`<p class="bad" id="${name}-wrong">([^<]*)</p>`).exec(html)?.[1]
      return [name, said ?? '']
    }),
  )

test('B2 B10: from the budgets page an admin gets to the form of each budget and changes it', async () => {
  const html = await admin.read('/budgets')
  expect(html).toContain('href="/budgets/new"')
  expect(html).toContain(`href="${path}"`)
  const shown = await admin.read(path)
  expect(shown).toContain(`action="${path}"`)
  expect(shown).toContain('value="5.00"')
  const response = await admin.send(path, { ...changed, limit_dollars: ' 12.5 ' })
  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toBe(`/budgets#${encodeURIComponent(id)}`)
  expect(await readRow()).toEqual({ usd: 12_500_000, tokens: 900 })
  expect(await admin.read(path)).toContain('value="12.50"')
})

test('B2: an empty field lifts the limit, of dollars and of tokens', async () => {
  expect((await admin.send(path, { ...changed, limit_dollars: '' })).status).toBe(303)
  expect(await readRow()).toEqual({ usd: null, tokens: 900 })
  await admin.send(path, { ...changed, limit_tokens: '' })
  expect(await readRow()).toEqual({ usd: 5_000_000, tokens: null })
})

test('B2: the row of a budget shows both limits and the start of its period', async () => {
  await env.DB.prepare(`UPDATE budgets SET reset_day = 5, timezone = 'Asia/Tokyo' WHERE id = ?`)
    .bind(id)
    .run()
  const html = await admin.read('/budgets')
  expect(html).toContain('$0.00 of $5.00, 0 of 900 tokens')
  expect(html).toContain('monthly from day 5, Asia/Tokyo')
})

test('B3: the form takes thresholds in percent, and whether critical tasks continue', async () => {
  const typed = { warning_percent: '50', throttle_percent: '62.5 %', critical_percent: '75' }
  await admin.send(path, { ...changed, ...typed, allows_critical: 'on' })
  const select =
    'SELECT warning_share, throttle_share, critical_share, allows_critical FROM budgets WHERE id = ?'
  expect(await env.DB.prepare(select).bind(id).first()).toEqual({
    warning_share: 0.5,
    throttle_share: 0.625,
    critical_share: 0.75,
    allows_critical: 1,
  })
  const html = await admin.read(path)
  expect(html).toContain('Thresholds at 50, 62.5 and 75 %, critical tasks continue')
  expect(html).toMatch(/<input type="checkbox" name="allows_critical" checked/)
  await admin.send(path, { ...changed, warning_percent: '', throttle_percent: '' })
  expect(await env.DB.prepare(select).bind(id).first()).toEqual({
    warning_share: 0.8,
    throttle_share: 0.9,
    critical_share: 1,
    allows_critical: 0,
  })
})

test('B2 B10: an invalid amount is an error at its field, keeps what was typed and changes nothing', async () => {
  for (const text of ['1.000', '-1', '1e3', '<ten>', '1000000001', '0.0000001']) {
    const response = await admin.send(path, { ...changed, limit_dollars: text, limit_tokens: '7' })
    const html = await response.text()
    expect(response.status, text).toBe(400)
    expect(Object.keys(listWrong(html))).toEqual(['limit_dollars'])
    expect(html).toContain(`value="${text.replace('<', '&lt;').replace('>', '&gt;')}"`)
    expect(html).toContain('value="7"')
  }
  expect(await readRow()).toEqual({ usd: 5_000_000, tokens: 900 })
})

test('B3: thresholds out of order are an error at the wrong field, in an open section', async () => {
  const response = await admin.send(path, { ...changed, warning_percent: '95' })
  const html = await response.text()
  expect(response.status).toBe(400)
  expect(Object.keys(listWrong(html))).toEqual(['throttle_percent'])
  expect(html.match(/<details open/g)).toHaveLength(1)
  const other = await admin.send(path, { ...changed, critical_percent: '101' })
  expect(Object.keys(listWrong(await other.text()))).toEqual(['critical_percent'])
})

test.each([
  ['hub', '', ''],
  ['agent', scout.name, scout.id],
  ['agent', `@${scout.name}`, scout.id],
  ['provider', 'anthropic', 'anthropic'],
  ['model', 'openai/gpt-6-sol', 'openai/gpt-6-sol'],
  ['community', 'm/general', null],
])('B2 B10: an admin makes a budget of %s "%s" in the form', async (scope, name, scopeId) => {
  const shown = await admin.read('/budgets/new')
  expect(shown).toContain(`<option value="${scope}"`)
  expect(shown).toContain('<option value="Europe/Berlin">')
  const response = await admin.send('/budgets/new', {
    ...fresh,
    scope,
    name,
    reset_day: '3',
    timezone: 'Europe/Berlin',
    limit_tokens: '2,000,000',
    limit_dollars: '',
    critical_percent: '95',
    allows_critical: 'on',
  })
  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toMatch(/^\/budgets#[\w-]+$/)
  const general = await env.DB.prepare(`SELECT id FROM communities WHERE name = 'general'`).first()
  expect(await readNew()).toEqual([
    {
      scope,
      scope_id: scopeId ?? general?.id,
      period: 'week',
      reset_day: 3,
      timezone: 'Europe/Berlin',
      limit_microusd: null,
      limit_tokens: 2_000_000,
      warning_share: 0.8,
      throttle_share: 0.9,
      critical_share: 0.95,
      allows_critical: 1,
      made_by: 'admin',
    },
  ])
  expect(await admin.read('/budgets')).toContain('weekly from Wednesday, Europe/Berlin')
})

test.each([
  [{ scope: 'hub' }, 'name'],
  [{ name: '' }, 'name'],
  [{ name: 'nobody-of-this-name' }, 'name'],
  [{ scope: 'community', name: 'nowhere' }, 'name'],
  [{ scope: 'model', name: 'gpt' }, 'name'],
  [{ scope: 'provider', name: 'openai/gpt-6-sol' }, 'name'],
  [{ scope: 'planet' }, 'scope'],
  [{ period: 'year' }, 'period'],
  [{ reset_day: '8' }, 'reset_day'],
  [{ reset_day: 'Monday' }, 'reset_day'],
  [{ period: 'day', reset_day: '2' }, 'reset_day'],
  [{ timezone: 'Mars/Base' }, 'timezone'],
  [{ limit_tokens: '1.5' }, 'limit_tokens'],
  [{ warning_percent: 'most' }, 'warning_percent'],
])(
  'B2 B10: a new budget with %j is refused at that field and keeps the rest',
  async (typed, field) => {
    const response = await admin.send('/budgets/new', { ...fresh, limit_dollars: '41.5', ...typed })
    const html = await response.text()
    expect(response.status).toBe(400)
    const wrong = listWrong(html)
    expect(Object.keys(wrong)).toEqual([field])
    expect(wrong[field]).toMatch(/\.$/)
    expect(html).toContain('value="41.5"')
    expect(await readNew()).toEqual([])
  },
)

test('B10: the errors of all fields are shown at once', async () => {
  const typed = { ...fresh, name: '', timezone: 'Mars', limit_dollars: 'x', critical_percent: '-' }
  const html = await (await admin.send('/budgets/new', typed)).text()
  expect(Object.keys(listWrong(html)).sort()).toEqual(
    ['name', 'timezone', 'limit_dollars', 'critical_percent'].sort(),
  )
  expect(html.match(/<details open/g)).toHaveLength(2)
  const main = html.slice(html.indexOf('<main'))
  const order = [...main.matchAll(/<(?:input|select|textarea) [^>]* name="(\w+)"/g)]
  const hidden = ['idempotency_key']
  expect(order.map(([, name]) => name)).toEqual([...hidden, ...budgetFields])
})

test('B10: the first invalid field has the focus', async () => {
  for (const [wrong, first] of [
    [{ name: '', timezone: 'Mars' }, 'name'],
    [{ timezone: 'Mars', limit_dollars: 'x' }, 'limit_dollars'],
    [{ warning_percent: '95', timezone: 'Mars' }, 'timezone'],
  ] as const) {
    const html = await (await admin.send('/budgets/new', { ...fresh, ...wrong })).text()
    const focused = html.match(/<[^>]* autofocus/g)
    expect(focused, first).toEqual([expect.stringContaining(` name="${first}"`)])
  }
})

test('B2: when such a budget already exists, the form links to it', async () => {
  const response = await admin.send('/budgets/new', { ...fresh, period: 'month' })
  const html = await response.text()
  expect(response.status).toBe(409)
  expect(html).toContain('A monthly budget for this scope already exists.')
  expect(html).toContain(`href="${path}"`)
  expect(html).not.toContain('PUT /api')
  expect(await readNew()).toEqual([])
})

test('B2 B10: deleting a budget takes a confirmation page that explains the effect', async () => {
  expect(await admin.read('/budgets')).toContain(`href="${path}/delete"`)
  const html = await admin.read(`${path}/delete`)
  expect(html).toContain('Delete this budget?')
  expect(html).toContain('$5.00 and 900 tokens')
  expect(html).toContain(`method="post" action="${path}/delete"`)
  expect(await readRow()).not.toBeNull()
  const response = await admin.send(`${path}/delete`, {})
  expect([response.status, response.headers.get('location')]).toEqual([303, '/budgets'])
  expect(await readRow()).toBeNull()
  expect((await admin.send(`${path}/delete`, {})).status).toBe(404)
})

test('B2: the last budget of the hub cannot be deleted; its page shows what to do instead', async () => {
  const html = await admin.read(`${hubPath}/delete`)
  expect(html).toContain('Remove the limits of this budget instead.')
  expect(html).not.toContain('>Delete budget</button>')
  const response = await admin.send(`${hubPath}/delete`, {})
  expect(response.status).toBe(409)
  expect(await response.text()).toContain('role="alert"')
  expect((await admin.get(hubPath)).status).toBe(200)
})

test('B2: other accounts see that only admins can change budgets, and cannot change them', async () => {
  const forms = ['/budgets/new', path, `${path}/delete`]
  for (const [browser, status] of [
    [person, 403],
    [createBrowser(hub), 401],
  ] as const) {
    const html = await browser.read('/budgets')
    expect(html).toContain('Only admins can create and edit budgets.')
    expect(html).not.toContain('/budgets/new')
    expect(html).not.toContain(path)
    for (const each of forms) {
      // a stranger is redirected to the sign-in page
      expect(await browser.read(each)).not.toMatch(/name="limit_dollars"|>Delete budget</)
      expect((await browser.send(each, fresh)).status, each).toBe(status)
    }
  }
  expect((await person.get(path)).status).toBe(403)
  for (const each of ['/budgets/nope', '/budgets/nope/delete']) {
    expect((await admin.get(each)).status).toBe(404)
    expect((await admin.send(each, changed)).status).toBe(404)
  }
  expect(await readRow()).toEqual({ usd: 5_000_000, tokens: 900 })
})

test('B2: forms from another site are refused', async () => {
  const cookie = (await hub.fetch('/login', form({ key: 'test_admin_key_0123456789' }))).headers
    .get('set-cookie')
    ?.split(';')[0]
  for (const each of ['/budgets/new', path, `${path}/delete`]) {
    const evil = await hub.fetch(each, {
      ...form({ ...fresh, limit_dollars: '9' }),
      headers: {
        cookie: cookie ?? '',
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'https://evil.example',
        'sec-fetch-site': 'cross-site',
      },
    })
    expect(evil.status, each).toBe(403)
  }
  expect(await readRow()).toEqual({ usd: 5_000_000, tokens: 900 })
  expect(await readNew()).toEqual([])
})
