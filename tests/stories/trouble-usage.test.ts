import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { createAccount, post } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'
import type { FakeAnswer } from '../support/fake-model-wire'
import { openTrace } from '../support/run-log'

/** A provider's usage is untrusted input: budgets must hold when it is false. */
let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

const search = { name: 'hub_search', arguments: { query: 'tin' } }
const untrue: [string, NonNullable<FakeAnswer['usage']>][] = [
  ['negative', { input: -5_000, output: -5_000 }],
  ['absurd', { input: 10 ** 12, output: 20 }],
  ['absurdly long', { input: 100, output: 10 ** 12 }],
]

describe.each(['anthropic', 'openai', 'openai-compatible'] as const)('%s', (provider) => {
  test.each(untrue)(
    'B4 L18: %s usage is not believed: the worst case is charged, in a step with tools or without',
    async (what, usage) => {
      const name = `u-${what.slice(-4)}-${provider.slice(-6)}`
      const answers = [
        { calls: [search], usage },
        { text: 'It holds tea.', usage },
      ]
      const agent = await createAgent(name, answers, { provider })
      const asked = await post(mira.key, `Usage that is ${what}`, `@${name} what is in the tin?`)
      const activation = await waitForActivation(asked)
      expect(activation).toMatchObject({ outcome: 'completed', error: null, iterations: 2 })
      expect(await repliesTo(asked)).toEqual([expect.stringContaining('It holds tea.')])
      const charges = await chargesOf(activation.id)
      const requests = await agent.requests()
      const bodies = requests.map(({ body }) => JSON.stringify(body).length)
      const caps = requests.map(({ body }) => body.max_tokens ?? body.max_output_tokens)
      expect(charges).toHaveLength(2)
      for (const [index, charge] of charges.entries()) {
        expect(charge.is_estimated).toBe(1)
        expect(charge.input_tokens).toBeGreaterThan(100)
        expect(charge.input_tokens).toBeLessThan(bodies[index] ?? 0)
        expect(charge.output_tokens).toBe(caps[index])
      }
      expect(await notesOf(activation.id)).toHaveLength(2)
      await expectBooksToAgree()
    },
  )
})

test('B4 L18: fractions of tokens are rounded up', async () => {
  const usage = { input: 100.25, output: 20.5, cached: 10.5 }
  await createAgent('u-fraction', [{ text: 'It holds tea.', usage }])
  const asked = await post(mira.key, 'Fractions', '@u-fraction what is in the tin?')
  const activation = await waitForActivation(asked)
  expect(await chargesOf(activation.id)).toMatchObject([
    { input_tokens: 101, output_tokens: 21, cached_tokens: 11, is_estimated: 0 },
  ])
  await expectBooksToAgree()
})

test('B5 L8: the answer is limited to the remaining tokens of the task', async () => {
  const usage = { input: 4_000, output: 100 }
  const answers = [
    { calls: [search], usage },
    { text: 'It holds tea.', usage },
  ]
  const agent = await createAgent('u-clamp', answers, {
    behavior: 'behavior: { max_tokens: 10000 }',
  })
  const asked = await post(mira.key, 'Clamped', '@u-clamp what is in the tin?')
  expect((await waitForActivation(asked)).outcome).toBe('completed')
  const caps = (await agent.requests()).map(({ body }) => body.max_tokens)
  expect(caps[1]).toBeGreaterThanOrEqual(64)
  expect(caps[1]).toBeLessThanOrEqual(10_000 - 2 * 4_100)
})

interface Row {
  input_tokens: number
  cached_tokens: number
  output_tokens: number
  is_estimated: number
}

const read = async <Each>(sql: string, ...values: string[]): Promise<Each[]> =>
  (
    await env.DB.prepare(sql)
      .bind(...values)
      .all<Each>()
  ).results

const chargesOf = (activationId: string) =>
  read<Row>('SELECT * FROM usage_events WHERE activation_id = ? ORDER BY call', activationId)

const repliesTo = async (postId: string) =>
  (await read<{ content: string }>('SELECT content FROM comments WHERE post_id = ?', postId)).map(
    ({ content }) => content,
  )

async function notesOf(activationId: string): Promise<string[]> {
  const sql = 'SELECT trace FROM activation_traces WHERE activation_id = ?'
  const [row] = await read<{ trace: string }>(sql, activationId)
  const { notes } = openTrace(row?.trace ?? '{}')
  return notes.map(({ text }) => text).filter((text) => text.includes('cannot be true'))
}

/** Budget counters are the sums of the usage events, in whole numbers (B11). */
async function expectBooksToAgree(): Promise<void> {
  const [sums] = await read<Record<string, number>>(
    `SELECT (SELECT sum(cost_microusd) FROM usage_events) AS microusd,
       (SELECT sum(input_tokens + output_tokens) FROM usage_events) AS tokens,
       (SELECT sum(w.spent_microusd) FROM budgets b JOIN budget_windows w ON w.budget_id = b.id
         WHERE b.scope = 'hub') AS spentMicrousd,
       (SELECT sum(w.spent_tokens) FROM budgets b JOIN budget_windows w ON w.budget_id = b.id
         WHERE b.scope = 'hub') AS spentTokens`,
  )
  expect(sums?.spentMicrousd).toBe(sums?.microusd)
  expect(sums?.spentTokens).toBe(sums?.tokens)
  expect(Number.isInteger(sums?.spentTokens)).toBe(true)
}
