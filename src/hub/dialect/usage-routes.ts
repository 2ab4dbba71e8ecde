import * as z from 'zod'
import { run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { presentIdempotent, type Route, route } from '../http/route'
import { runOnce } from '../idempotency/run-once'
import { serviceKeyErrors } from '../service-keys/errors'
import { dialectErrors } from './errors'
import { insertConsumption, selectAgentBudget, selectServiceKey } from './queries'

const tag = 'people'
const retryMs = 30_000
const tokens = z.number().int().min(0).max(1e9)
const dollars = z.number().min(0)

const toMicrousd = (usd: number): number => Math.round(usd * 1e6)

const consumptionInput = z
  .object({
    agent_id: z.string().max(100),
    tokens_input: tokens.optional(),
    tokens_output: tokens.optional(),
    cost_usd: z.number().min(0).max(100_000).optional(),
  })
  // A report with other names must not count as nothing.
  .refine(
    (body) =>
      [body.tokens_input, body.tokens_output, body.cost_usd].some((each) => each !== undefined),
    { message: 'Must have tokens_input, tokens_output or cost_usd' },
  )

const consumptionRoute = route({
  method: 'post',
  path: '/system/consumption',
  summary:
    'Reports what a run of an external agent consumed (service key). The same report within 30 seconds is a retry, unless each has an idempotency key',
  tag,
  access: 'write',
  rate: 'write',
  body: consumptionInput,
  answer: z.object({ recorded: z.boolean().describe('False for a retry.') }),
  handle: async (call) => {
    const { context, body, credential } = call
    const { db, clock } = context
    const now = clock.now()
    const key = credential && (await run(db, selectServiceKey(credential.hash, now)))
    if (!key) throw dialectErrors.notService()
    const budget = await run(db, selectAgentBudget(body.agent_id, toWindows(now)))
    if (!budget) throw dialectErrors.unknownAgent()
    if (!budget.isExternal) throw serviceKeyErrors.notExternal()
    const { accountId, idempotencyKey } = call.actor()
    const once = { accountId, key: idempotencyKey, action: 'consumption', input: body }
    const done = await runOnce(db, once, {
      now,
      answer: { recorded: true },
      statements: {
        isRecorded: insertConsumption({
          id: clock.newId(),
          agentId: body.agent_id as AccountId,
          inputTokens: body.tokens_input ?? 0,
          outputTokens: body.tokens_output ?? 0,
          costMicrousd: toMicrousd(body.cost_usd ?? 0),
          createdAt: now,
          retrySince: idempotencyKey === null ? now - retryMs : null,
        }),
      },
    })
    return presentIdempotent(call, done, (answer) => ({
      recorded: done.results?.isRecorded ?? answer.recorded,
    }))
  },
})

const healthRoute = route({
  method: 'get',
  path: '/service/budget-health',
  summary:
    'Returns the limits of an external agent and what it consumed, in dollars; with a service key GET /system/budget-health?agent_id= is the same',
  tag,
  access: 'own',
  rate: 'read',
  query: z.object({ agent_id: z.string().min(1).max(100) }),
  answer: z.object({
    agent_id: z.string(),
    daily_limit: dollars.describe('0: no limit.'),
    daily_used: dollars,
    monthly_limit: dollars.describe('0: no limit.'),
    monthly_used: dollars,
    healthy: z.boolean().describe('Whether the agent may run.'),
  }),
  handle: async ({ context, credential, query, read }) => {
    const now = context.clock.now()
    const { answers } = await read({
      service: credential && selectServiceKey(credential.hash, now),
      budget: selectAgentBudget(query.agent_id, toWindows(now)),
    })
    if (!answers.service) throw dialectErrors.notService()
    const { budget } = answers
    if (!budget) throw dialectErrors.unknownAgent()
    if (!budget.isExternal) throw serviceKeyErrors.notExternal()
    const isWithin = (used: number, limit: number | null) => limit === null || used < limit
    return {
      agent_id: query.agent_id,
      daily_limit: (budget.dailyLimit ?? 0) / 1e6,
      daily_used: budget.dailyUsed / 1e6,
      monthly_limit: (budget.monthlyLimit ?? 0) / 1e6,
      monthly_used: budget.monthlyUsed / 1e6,
      healthy:
        !budget.isStopped &&
        isWithin(budget.dailyUsed, budget.dailyLimit) &&
        isWithin(budget.monthlyUsed, budget.monthlyLimit),
    }
  },
})

/** Returns where the day and the month of a time begin (UTC). */
function toWindows(now: number): { dayStart: number; monthStart: number; now: number } {
  const at = new Date(now)
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  return {
    dayStart: Date.UTC(year, month, at.getUTCDate()),
    monthStart: Date.UTC(year, month),
    now,
  }
}

export const usageRoutes: Route[] = [consumptionRoute, healthRoute]
