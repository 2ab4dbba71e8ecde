import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { sweep } from '../../src/hub/api/sweep'
import { createTestHub, readCost } from '../hub/create-test-hub'
import { fillDaysSql, generateUsage, insertCallsSql, officeAgents } from '../support/generate-usage'
import { sampleSize } from '../support/sample'
import { createBrowser, signIn } from './open-pages'

const hub = createTestHub({ OPENAI_API_KEY: 'sk-test' })
const browser = createBrowser(hub)
const DAY_MS = 86_400_000

const count = async (sql: string): Promise<number> =>
  Object.values((await env.DB.prepare(sql).first<Record<string, number>>()) ?? {})[0] ?? 0

/** Cells of the CSV of a view, without its head. */
const readCsv = async (query = ''): Promise<string[][]> => {
  const text = await browser.read(`/budgets.csv${query}`)
  return text
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','))
}

beforeAll(async () => {
  hub.clock.advance(Date.parse('2026-11-21T18:00:00Z') - hub.clock.now())
  for (const [name] of officeAgents) await hub.join(name)
  const calls = generateUsage({ seed: 3, now: hub.clock.now(), days: 40, scale: 0.25 })
  for (let from = 0; from < calls.length; from += 500) {
    const list = JSON.stringify(calls.slice(from, from + 500))
    await env.DB.prepare(insertCallsSql).bind(list).run()
  }
  await env.DB.prepare(fillDaysSql).run()
  await env.DB.prepare(
    `INSERT OR REPLACE INTO budget_windows (budget_id, starts_at, ends_at, spent_microusd, spent_tokens)
     SELECT b.id, ?1, ?2, sum(u.cost_microusd), sum(u.input_tokens + u.output_tokens)
     FROM budgets b, usage_events u WHERE b.scope = 'hub' AND u.created_at >= ?1`,
  )
    .bind(Date.parse('2026-11-01'), Date.parse('2026-12-01'))
    .run()
})

test('B8: days add up to their calls', async () => {
  const sums = `sum(cost_microusd) * 1e6 + sum(input_tokens) + sum(output_tokens) + sum(cached_tokens)`
  const all = await count(`SELECT ${sums} FROM usage_events`)
  for (const scope of ['hub', 'agent', 'model', 'provider', 'task', 'community']) {
    expect(await count(`SELECT ${sums} FROM usage_days WHERE scope = '${scope}'`), scope).toBe(all)
  }
  expect(await count(`SELECT sum(calls) FROM usage_days WHERE scope = 'hub'`)).toBe(
    await count('SELECT count(*) FROM usage_events'),
  )
})

test('B10: the CSV holds exactly what the page shows', async () => {
  const from = Date.parse('2026-10-23')
  const cost = await count(
    `SELECT sum(cost_microusd) FROM usage_events WHERE created_at >= ${from}`,
  )
  const lines = await readCsv()
  const dollars = lines.reduce((sum, cells) => sum + Number(cells.at(-1)), 0)
  expect(Math.round(dollars * 1_000_000)).toBe(cost)
  // ten agents: eight by name, two as others
  const names = new Set(lines.map((cells) => cells[1]))
  expect(names.size).toBe(9)
  expect(names).toContain('others')
  const html = await browser.read('/budgets')
  const legend = /<ul class="keys legend" aria-label="Colours by agent">.*?<\/ul>/g.exec(html)?.[0]
  for (const name of names) expect(legend).toContain(name)
  expect(html).toContain('href="/budgets.csv"')
})

test.each([
  ['?days=7', 'day', 7],
  ['?days=30&each=week', 'week', 5],
  ['?days=90&by=model&each=month', 'month', 4],
  ['?days=365&by=task', 'week', 53],
  ['?days=365&each=day', 'week', 53],
  ['?days=nonsense&by=planet&each=year&to=never', 'day', 30],
  ['?to=2026-11-01&days=7', 'day', 7],
])(
  'B10: %s shows a bar each %s, %i of them, and each can be focused',
  async (query, each, bars) => {
    const html = await browser.read(`/budgets${query}`)
    expect(html).toContain(`Spent by ${each}`)
    const chart = html.slice(html.indexOf('id="spend"'))
    const spots = chart.match(/<g class="spot" tabindex="0" role="img" aria-label="[^"]+"/g) ?? []
    expect(spots).toHaveLength(bars)
  },
)

test('B10: bar, hover value, table and CSV agree on a day', async () => {
  const html = await browser.read('/budgets?by=model')
  const lines = (await readCsv('?by=model')).filter((cells) => cells[0] === '2026-11-19')
  const total = lines.reduce((sum, cells) => sum + Number(cells.at(-1)), 0).toFixed(2)
  expect(html).toContain(`aria-label="Thu\u00a019\u00a0Nov: $${total}.`)
  expect(html).toContain(`class="head" text-anchor="end">$${total}</text>`)
  const row = /<th scope="row">Thu\u00a019\u00a0Nov<\/th>.*?<\/tr>/.exec(html)?.[0]
  expect(row).toContain(`<b>$${total}</b>`)
  expect(row).toContain('unpriced')
})

test('B7: usage without a price is counted in tokens, never as money or free', async () => {
  const html = await browser.read('/budgets')
  const tokens = await count(
    `SELECT sum(input_tokens + output_tokens) FROM usage_events WHERE is_priced = 0
     AND created_at >= ${Date.parse('2026-10-23')}`,
  )
  expect(html).toContain(`${tokens.toLocaleString('en-US')} tokens of`)
  expect(html).toContain('are not free')
  const csv = await readCsv('?by=provider')
  expect(
    csv.filter((cells) => cells[1] === 'workers-ai').every((cells) => cells.at(-1) === ''),
  ).toBe(true)
  expect(await browser.read('/budgets?by=provider&in=tokens')).toContain('workers-ai')
})

test('B10: limit, thresholds and forecast are drawn as lines and described as text', async () => {
  const spent = await count(`SELECT max(spent_microusd) FROM budget_windows`)
  const admin = await signIn(hub)
  await env.DB.prepare(`UPDATE budgets SET limit_microusd = ? WHERE scope = 'hub'`)
    .bind(Math.round(spent * 1.1))
    .run()
  const html = await admin.read('/budgets')
  expect(html).toContain('class="limit"')
  expect(html.match(/<line class="share" x1="0" x2="100%"/g)).toHaveLength(2)
  expect(html.match(/class="dash" x1="[\d.]+%"/g)).toHaveLength(1)
  expect(html).toMatch(/a day: limit reached (about \d+\u00a0Nov|in about)/)
  expect(html).toContain('a day, mean since')
  const { body } = await hub.call('/budgets/health')
  expect(body.budgets[0].forecast.state).toBe('runs_out')
  expect(Date.parse(body.budgets[0].forecast.exhausted_at)).toBeGreaterThan(hub.clock.now())
  expect(Date.parse(body.budgets[0].forecast.exhausted_at)).toBeLessThan(Date.parse('2026-12-01'))
})

test('B3 B10: at its limit a budget allows no spending, except its reserve for critical tasks', async () => {
  const spent = await count(`SELECT max(spent_microusd) FROM budget_windows`)
  const readEnd = async (limitShare: number, criticalShare: number, allowsCritical: number) => {
    await env.DB.prepare(
      `UPDATE budgets SET limit_microusd = ?, critical_share = ?, allows_critical = ? WHERE scope = 'hub'`,
    )
      .bind(Math.floor(spent * limitShare), criticalShare, allowsCritical)
      .run()
    const html = await browser.read('/budgets')
    return html.match(/Limit reached<\/dt>.*?<small>(.*?)<\/small>/s)?.[1]
  }
  expect(await readEnd(1.1, 1, 0)).toBe('then no agent can spend')
  expect(await readEnd(1.1, 1, 1)).toBe('then no agent can spend')
  expect(await readEnd(1.1, 0.95, 1)).toBe('then only critical tasks run')
  expect(await readEnd(1.05, 0.9, 1)).toBe('only critical tasks run')
  expect(await readEnd(1.05, 0.9, 0)).toBe('no agent can spend')
  expect(await readEnd(1, 0.9, 1)).toBe('no agent can spend')
  await readEnd(1.1, 1, 0)
})

test('B10: a hub of which nothing has a price is drawn in tokens; one without work says what to do', async () => {
  await env.DB.prepare(
    `DELETE FROM usage_days WHERE scope_id LIKE 'anthropic%' OR scope_id LIKE 'openai%'`,
  ).run()
  expect(await browser.read('/budgets?by=provider')).toContain('aria-current="true">tokens')
  expect(await browser.read('/budgets?to=2020-05-01')).toContain('No usage in this period')
})

test('B10: a name that is markup or a formula is text on the page and in the CSV', async () => {
  const now = hub.clock.now()
  await env.DB.prepare(
    `INSERT INTO usage_days VALUES ('model', ?1, '<b>&=1', 1, 0, 10, 0, 10, 0, 9000000, 0, 0),
       ('model', ?1, '=a,b', 1, 0, 10, 0, 10, 0, 9000000, 0, 0)`,
  )
    .bind(Math.floor(now / DAY_MS))
    .run()
  const html = await browser.read('/budgets?by=model')
  expect(html).toContain('&lt;b&gt;&amp;=1')
  expect(html).not.toContain('<b>&=1')
  const csv = await browser.read('/budgets.csv?by=model')
  expect(csv).toContain(`2026-11-21,"'=a,b",1,10,0,10,0,9.000000`)
})

test('B10: tens of thousands of calls in a year are read as days: few rows for one round trip', async () => {
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
     INSERT INTO usage_events (activation_id, call, account_id, model, task, input_tokens, cached_tokens,
       output_tokens, reasoning_tokens, cost_microusd, is_priced, is_estimated, duration_ms, created_at)
     SELECT 'year-' || i, 0, a.id, 'anthropic/m', 'mention', 10, 0, 10, 0, 100, 1, 0, 5,
       ?1 - (i % 365) * 86400000
     FROM n JOIN accounts a ON a.name = 'scout'`,
  )
    .bind(hub.clock.now() - 1, sampleSize(25_000, 100_000) - 1)
    .run()
  await env.DB.prepare(fillDaysSql).run()
  // Sweeps of the last minutes of an hour count what was spent on behalf of whom.
  hub.clock.advance(55 * 60_000)
  await sweep(hub.context(), hub.clock.now())
  const response = await browser.get('/budgets')
  expect(readCost(response.headers).roundTrips).toBe(1)
  // 30 days of ten agents, a few times, and a few dozen for budgets and activations
  expect(readCost(response.headers).rowsRead).toBeLessThan(3_000)
  const year = await browser.get('/budgets?days=365&by=model')
  expect(readCost(year.headers)).toMatchObject({ roundTrips: 1 })
  expect(readCost(year.headers).rowsRead).toBeLessThan(8_000)
  const usage = await hub.call('/usage?group_by=agent')
  expect(readCost(usage.headers)).toMatchObject({ roundTrips: 1 })
  expect(readCost(usage.headers).rowsRead).toBeLessThan(4_000)
})
