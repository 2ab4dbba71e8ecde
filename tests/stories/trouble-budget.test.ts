import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import type { Charge } from '../../src/agents/loop/event'
import { createAccount, post } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

/** Returns the sum of the overruns in the traces of all runs, in micro-dollars. */
async function readOverruns(): Promise<number> {
  const { results } = await env.DB.prepare('SELECT trace FROM activation_traces').all<{
    trace: string
  }>()
  const charges = results.flatMap(({ trace }) =>
    (JSON.parse(trace).events as { charge?: Charge | null }[]).flatMap(
      ({ charge }) => charge ?? [],
    ),
  )
  return charges.reduce((sum, { overrun }) => sum + (overrun?.microusd ?? 0), 0)
}

/** Three bytes per character, and up to three tokens. */
const chinese = '龘靐齉爨癵驫麤鱻灥纞虋讟钃鸜。'.repeat(400)

test('B4: a thread in Chinese with the most expensive tokenizer overspends the budget by recorded overruns at most', async () => {
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
  // the provider counts a token per byte of English too, which no reservation expects at first
  const overruns = await readOverruns()
  expect(spent?.microusd).toBeLessThanOrEqual(limit + overruns)
  expect(overruns).toBeLessThan(limit / 4)
  expect(spent?.microusd).toBeGreaterThan(limit / 2)
  expect(outcomes).toContain('completed')
  expect(outcomes).toContain('budget_exhausted')
})
