import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { recovery } from '../../src/shared/config'
import { createAccount, post } from '../support/cast'
import {
  createAgent,
  type FakeProvider,
  setIdleTimeout,
  type TestAgent,
  waitForActivation,
} from '../support/create-agent'
import { type FailureCase, failureCases } from '../support/failure-cases'

/** Each failure case, over HTTP, through the whole Worker, in each protocol. */
let mira: Awaited<ReturnType<typeof createAccount>>
/** Requested delays before retries, which end immediately. */
let pauses: number[]

beforeAll(async () => {
  mira = await createAccount('mira')
})

beforeEach(() => {
  pauses = []
  const wait = scheduler.wait.bind(scheduler)
  vi.spyOn(scheduler, 'wait').mockImplementation((ms, options) => {
    const isHold = ms > 30_000
    // a run waits for a moment before an effect, too, which is no pause after a failure
    if (!isHold && ms > recovery.askMs) pauses.push(ms)
    return wait(isHold ? ms : 1, options)
  })
})

afterEach(() => {
  vi.restoreAllMocks()
})

describe.each(['anthropic', 'openai', 'openai-compatible'] as const)('%s', (provider) => {
  test.each(failureCases)('L23 L24 L26: $what', async (failure) => {
    const agent = await createAgent(nameFor(provider, failure), failure.answers, { provider })
    if (failure.idleTimeout) await setIdleTimeout(agent, failure.idleTimeout)
    const asked = await post(mira.key, failure.what, `@${agent.name} are you there?`)
    const activation = await waitForActivation(asked)
    expect(activation.outcome).toBe(failure.outcome)
    if (failure.error) expect(activation.error).toContain(failure.error)
    else expect(activation.error).toBeNull()
    expect(await agent.requests()).toHaveLength(failure.requests)
    await expectBill(activation.id, failure)
    await expectReply(asked, failure)
    if (failure.pauses) expectPauses(failure.pauses)
    if (failure.tools) await expectTools(provider, agent, activation.id, failure.tools)
  })
})

let agents = 0
const nameFor = (provider: FakeProvider, { what }: FailureCase) =>
  `t${++agents}-${provider.slice(-3)}-${what.toLowerCase().replace(/[^a-z0-9]+/g, '')}`.slice(0, 32)

/** Usage events, the activation's row and the hub's budget have equal sums (B11). */
async function expectBill(
  activationId: string,
  { paid, estimated = 0 }: FailureCase,
): Promise<void> {
  const { results } = await env.DB.prepare('SELECT * FROM usage_events WHERE activation_id = ?')
    .bind(activationId)
    .all<{ cost_microusd: number; is_estimated: number; is_priced: number }>()
  expect(results).toHaveLength(paid)
  expect(results.filter((row) => row.is_estimated === 1)).toHaveLength(estimated)
  expect(results.every((row) => row.is_priced === 1 && row.cost_microusd > 0)).toBe(true)
  const sums = await env.DB.prepare(
    `SELECT x.cost_microusd AS activation, x.reserved_microusd + x.reserved_tokens AS reserved,
       (SELECT coalesce(sum(cost_microusd), 0) FROM usage_events WHERE activation_id = x.id) AS events,
       (SELECT sum(cost_microusd) FROM usage_events) AS allMicrousd,
       (SELECT sum(input_tokens + output_tokens) FROM usage_events) AS allTokens,
       (SELECT sum(w.spent_microusd) FROM budgets b JOIN budget_windows w ON w.budget_id = b.id
         WHERE b.scope = 'hub') AS spentMicrousd,
       (SELECT sum(w.spent_tokens) FROM budgets b JOIN budget_windows w ON w.budget_id = b.id
         WHERE b.scope = 'hub') AS spentTokens
     FROM activations x WHERE x.id = ?`,
  )
    .bind(activationId)
    .first<Record<string, number>>()
  expect(sums?.activation).toBe(sums?.events)
  expect(sums?.reserved).toBe(0)
  expect(sums?.spentMicrousd).toBe(sums?.allMicrousd ?? 0)
  expect(sums?.spentTokens).toBe(sums?.allTokens ?? 0)
}

/** Expects exactly one reply. */
async function expectReply(postId: string, { reply }: FailureCase): Promise<void> {
  const { results } = await env.DB.prepare('SELECT content FROM comments WHERE post_id = ?')
    .bind(postId)
    .all<{ content: string }>()
  expect(results).toHaveLength(1)
  expect(results[0]?.content).toContain('@mira')
  if (reply) expect(results[0]?.content).toMatch(reply)
}

function expectPauses(bounds: [number, number][]): void {
  expect(pauses).toHaveLength(bounds.length)
  for (const [index, [min, max]] of bounds.entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(min)
    expect(pauses[index]).toBeLessThanOrEqual(max)
  }
}

/** Expects one result per call in the next prompt, and the number of calls that ran. */
async function expectTools(
  provider: FakeProvider,
  agent: TestAgent,
  activationId: string,
  { results, run }: NonNullable<FailureCase['tools']>,
): Promise<void> {
  const idField = {
    anthropic: 'tool_use_id',
    openai: 'call_id',
    'openai-compatible': 'tool_call_id',
  }
  const body = (await agent.requests())[1]?.body
  const items: Record<string, unknown>[] =
    provider === 'anthropic'
      ? body.messages.flatMap(({ content }: { content: unknown }) => content)
      : (body.input ?? body.messages)
  const isResult = (item: Record<string, unknown>) =>
    item.type === 'tool_result' || item.type === 'function_call_output' || item.role === 'tool'
  const ids = items.filter(isResult).map((item) => item[idField[provider]])
  expect(ids).toHaveLength(results)
  expect(new Set(ids).size).toBe(results)
  const audited = await env.DB.prepare(
    "SELECT count(*) AS n FROM audit_log WHERE activation_id = ? AND outcome = 'ok'",
  )
    .bind(activationId)
    .first<{ n: number }>()
  expect(audited?.n).toBe(typeof run === 'number' ? run : run[provider])
}
