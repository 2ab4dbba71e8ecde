import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createAccount, post } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

/** Three bytes per character, and up to three tokens. */
const chinese = '龘靐齉爨癵驫麤鱻灥纞虋讟钃鸜。'.repeat(400)

test('B4: a thread in Chinese with the most expensive tokenizer does not overspend the budget', async () => {
  const limit = 150_000
  await env.DB.prepare("UPDATE budgets SET limit_microusd = ? WHERE scope = 'hub'")
    .bind(limit)
    .run()
  const names = Array.from({ length: 8 }, (_, n) => `reader-${n}`)
  for (const name of names) {
    // the agents' definitions fit in the budget; the threads they read take most of it
    await createAgent(name, [{ text: 'Read.', isDearest: true, latencyMs: 20 }], {
      model: 'claude-haiku-4-5',
      behavior: 'behavior: { max_iterations: 2 }',
    })
  }
  const posts = await Promise.all(
    names.map((name) => post(mira.key, 'Old characters', `@${name} ${chinese}`)),
  )
  const ended = await Promise.all(posts.map(waitForActivation))
  const outcomes = ended.map(({ outcome }) => outcome)
  const spent = await env.DB.prepare(
    `SELECT sum(w.spent_microusd) AS microusd, (SELECT sum(cost_microusd) FROM usage_events) AS events
     FROM budgets b JOIN budget_windows w ON w.budget_id = b.id WHERE b.scope = 'hub'`,
  ).first<{ microusd: number; events: number }>()
  expect(spent?.microusd).toBe(spent?.events)
  expect(spent?.microusd).toBeLessThanOrEqual(limit)
  expect(spent?.microusd).toBeGreaterThan(limit / 2)
  expect(outcomes).toContain('completed')
  expect(outcomes).toContain('budget_exhausted')
})
