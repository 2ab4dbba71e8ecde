import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createScene, signIn } from './open-pages'

const { hub, mira } = await createScene()
const [admin, person] = await Promise.all([signIn(hub), signIn(hub, mira.key)])

/** The form of a new budget, as a browser sends it. */
const fresh = {
  scope: 'role:member',
  name: '',
  period: 'month',
  reset_day: '1',
  timezone: 'UTC',
  limit_dollars: '5',
  limit_tokens: '',
  warning_percent: '80',
  throttle_percent: '90',
  critical_percent: '100',
}

test('T3: an admin creates a budget for each member in the browser, and its row shows who spends the most', async () => {
  const form = await admin.read('/budgets/new')
  expect(form).toContain('<option value="role:member"')
  expect(form).toContain('<option value="role:guest"')
  expect((await admin.send('/budgets/new', fresh)).status).toBe(303)
  const row = await env.DB.prepare(
    `SELECT id, scope, scope_id, limit_microusd FROM budgets WHERE scope = 'role:member'`,
  ).first()
  expect(row).toMatchObject({ scope: 'role:member', scope_id: '', limit_microusd: 5_000_000 })
  expect(await admin.read('/budgets')).toContain('Nobody has spent in this period yet.')
  await env.DB.prepare(
    `INSERT INTO budget_account_windows (budget_id, starts_at, account_id, spent_microusd, spent_tokens)
     SELECT w.budget_id, w.starts_at, ?1, 4100000, 900 FROM budget_windows w
     WHERE w.budget_id = ?2 AND w.starts_at <= ?3 AND w.ends_at > ?3`,
  )
    .bind(mira.id, row?.id, hub.clock.now())
    .run()
  const shown = await admin.read('/budgets')
  expect(shown).toContain('Each member')
  expect(shown).toContain('at most $4.10 of $5.00')
  expect(shown).toContain('1 account has spent in this period, none of them used up the limit.')
  const note =
    /<ul class="meta up" aria-label="Most spent of the budget of each member">(.*?)<\/ul>/s
  expect(note.exec(shown)?.[1]).toContain(mira.name)
  expect(await person.read('/budgets')).not.toMatch(note)
})

test('T3: the form refuses a name for a budget of a role, and a second one for the same period', async () => {
  const named = await admin.send('/budgets/new', { ...fresh, period: 'day', name: mira.name })
  expect(named.status).toBe(400)
  expect(await named.text()).toContain('Every member gets this budget.')
  const again = await admin.send('/budgets/new', fresh)
  expect(again.status).toBe(409)
})
