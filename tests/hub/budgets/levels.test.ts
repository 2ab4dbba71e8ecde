import { beforeAll, beforeEach, expect, it } from 'vitest'
import { selectChangedBudgets } from '../../../src/hub/budgets/report-queries'
import { toUsableLimit } from '../../../src/hub/rules/budget-levels'
import { run as runStatement } from '../../../src/shared/db/batch'
import { createBrowser } from '../../web/open-pages'
import { createOffice, usageOf } from '../runs/create-office'

const office = createOffice()
const { hub, post, start, run } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await office.createAgent('scout', { floorTokens: 0 })
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  await office.clear()
  await run('DELETE FROM budget_refusals')
})

interface Case {
  kind: 'microusd' | 'tokens'
  limit: number
  /** Critical share; the others are below it. */
  share: number
  spent: number
  /** What the last refused call needed; null: none was refused. */
  needed: number | null
}

const kinds = ['microusd', 'tokens'] as const
const cases: Case[] = kinds.flatMap((kind) =>
  [0, 1, 101].flatMap((limit) =>
    [1, 0.29].flatMap((share) => {
      const usable = toUsableLimit(limit, { criticalShare: share })
      const spending = [0, usable - 20, usable - 1, usable, usable + 1, limit]
      return [...new Set(spending.filter((each) => each >= 0))].flatMap((spent) =>
        [null, 0, 20, 21].map((needed) => ({ kind, limit, share, spent, needed })),
      )
    }),
  ),
)

async function prepare({ kind, limit, share, spent, needed }: Case): Promise<void> {
  const isMoney = kind === 'microusd'
  await run(
    `UPDATE budgets SET limit_microusd = ?1, limit_tokens = ?2, critical_share = ?3,
       throttle_share = ?3 * 0.9, warning_share = ?3 * 0.8 WHERE scope = 'hub'`,
    isMoney ? limit : null,
    isMoney ? null : limit,
    share,
  )
  await run(`UPDATE budget_windows SET spent_${kind} = ?1`, spent)
  await run(
    `UPDATE agents SET call_floor_${kind} = ?1 WHERE account_id = ?2`,
    needed ?? 0,
    scout.id,
  )
  await run('DELETE FROM budget_refusals')
  if (needed === null) return
  await run(
    `INSERT INTO budget_refusals SELECT b.id, w.starts_at, ?1, ?2, 0
     FROM budgets b JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at <= ?3 AND w.ends_at > ?3
     WHERE b.scope = 'hub'`,
    isMoney ? needed : 0,
    isMoney ? 0 : needed,
    hub.clock.now(),
  )
}

it('B3: admission, health, forecast, reports and prompts agree in every state of a budget', async () => {
  const levels = ['healthy', 'warning', 'throttle', 'critical']
  await run(
    `INSERT OR REPLACE INTO budget_levels (budget_id, is_crossed) SELECT id, 1 FROM budgets WHERE scope = 'hub'`,
  )
  const found = new Set<string>()
  await post(ada.key, '@scout')
  for (const each of cases) {
    await prepare(each)
    await run('UPDATE inbox_items SET read_at = NULL, claimed_by = NULL')
    hub.clock.advance(2_000)
    const { admission, budgets } = await start(scout.id)
    await run(`UPDATE activations SET state = 'done', reserved_microusd = 0, reserved_tokens = 0`)
    const [shown] = (await hub.call('/budgets/health')).body.budgets
    const [changed] = await runStatement(
      office.context().db,
      selectChangedBudgets({ now: hub.clock.now() }),
    )
    const [seen] = budgets
    const isRefused = admission === 'budget_exhausted'
    const what = JSON.stringify(each)
    expect(shown.status === 'critical', what).toBe(isRefused)
    expect(shown.forecast.state === 'exhausted', what).toBe(isRefused)
    expect(levels[changed?.level ?? -1], what).toBe(shown.status)
    expect(seen?.level, what).toBe(shown.status)
    expect(seen?.isRefusing, what).toBe(changed?.isRefusing)
    const left = toUsableLimit(each.limit, { criticalShare: each.share }) - each.spent
    expect(seen?.isRefusing, what).toBe(isRefused && left > 0)
    found.add(`${shown.status} ${seen?.isRefusing}`)
  }
  expect([...found].sort()).toEqual(
    ['critical false', 'critical true', 'healthy false', 'throttle false', 'warning false'].sort(),
  )
})

it('B3: after a refusal no page says that mentions are answered', async () => {
  for (const [spent, limit, share] of [
    [60, 100, 1],
    [85, 100, 1],
    [92, 100, 1],
    [45, 100, 0.5],
  ] as const) {
    await prepare({ kind: 'microusd', limit, share, spent: 0, needed: null })
    await post(ada.key, '@scout')
    const { activationId } = await start(scout.id)
    await office.commit(scout.id, activationId, {
      usage: [usageOf(spent, 3)],
      refusedCall: { microusd: 50, tokens: 1 },
    })
    const html = await createBrowser(hub).read('/budgets')
    expect(html).toContain('critical</span>')
    expect(html).toContain('class="meter crit"')
    expect(html).toContain('A call that needs $0.0001 was refused: too little is left until')
    expect(html).not.toContain('Mentions are answered')
    await office.clear()
  }
})

it('B3: an agent’s page shows the worst of its budgets, with its own thresholds', async () => {
  for (const [period, limit, warning, spent] of [
    ['day', 1_000, 0.8, 700],
    ['week', 1_000, 0.2, 300],
  ] as const)
    await run(
      `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, warning_share, created_at, updated_at)
       VALUES (?1, 'agent', ?2, ?1, ?3, ?4, ?5, 0)`,
      period,
      scout.id,
      limit,
      warning,
      spent,
    )
  await office.hubApi.sweep(hub.clock.now())
  await run(
    'UPDATE budget_windows SET spent_microusd = (SELECT created_at FROM budgets b WHERE b.id = budget_id)',
  )
  const html = await createBrowser(hub).read('/a/scout')
  expect(html).toContain('Budget, this week')
  expect(html).toContain('class="meter warn"')
  expect(html).toContain('<line x1="20" x2="20"')
})

const periods = ['day', 'week', 'month'] as const
type Period = (typeof periods)[number]
const limitedSets: Period[][] = [
  [],
  ['day'],
  ['week'],
  ['month'],
  ['day', 'week'],
  ['day', 'month'],
  ['week', 'month'],
  [...periods],
] as Period[][]

it.each(limitedSets.map((limited) => ({ limited })))(
  'B8 B10: home, page and API agree on the main budget of the hub with $limited limited',
  async ({ limited }) => {
    await run(`DELETE FROM budgets WHERE scope = 'hub' AND period <> 'month'`)
    await run(`UPDATE budgets SET limit_microusd = NULL WHERE scope = 'hub'`)
    for (const period of ['day', 'week'])
      await run(
        `INSERT INTO budgets (id, scope, period, created_at, updated_at) VALUES (?1, 'hub', ?1, 0, 0)`,
        period,
      )
    for (const period of limited)
      await run(
        `UPDATE budgets SET limit_microusd = 1000 WHERE scope = 'hub' AND period = ?`,
        period,
      )
    await office.hubApi.sweep(hub.clock.now())
    const expected = (limited.length === 0 ? periods : limited).at(-1) ?? 'month'
    const { body } = await hub.call('/budgets', { key: ada.key })
    const main = body.budgets.find(({ id }: { id: string }) => id === body.requesters.budget_id)
    expect(main.period).toBe(expected)
    expect(await createBrowser(hub).read('/budgets')).toContain(`Current ${expected} of the hub`)
    const spent = { day: 'today', week: 'this week', month: 'this month' }[expected]
    const home = (await createBrowser(hub).read('/')).replaceAll('\u00a0', ' ')
    expect(home).toContain(`$0.00 ${spent}`)
  },
)
