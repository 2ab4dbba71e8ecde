import * as z from 'zod'
import { AppError } from '../../errors'
import { presentTime } from '../accounts/present'
import { type Call, presentOnce, type Route, route } from '../http/route'
import { changeBudget, createBudget, removeBudget } from './actions'
import { selectBudgets } from './api-queries'
import { budgetAuditRoutes } from './audit-routes'
import { budgetChange, budgetInput } from './inputs'
import type { PageBudget } from './page-queries'
import { presentBudget, presentHealth, presentSums, presentUsage } from './present'
import { type UsageSums, usageGroups, usageStatements } from './usage-api-queries'
import { type BudgetDay, selectBudgetDays } from './usage-queries'

const tag = 'budgets'
const DAY_MS = 86_400_000

async function readBudgets({ context, read }: Call<unknown, unknown>): Promise<PageBudget[]> {
  const { results } = await read([selectBudgets(context.db, context.clock.now())])
  return (results[0]?.results ?? []) as unknown as PageBudget[]
}

const time = z.union([z.iso.date(), z.iso.datetime({ offset: true })])
const sinceTime = time.transform((text) => Date.parse(text)).describe('a day (UTC) or a moment')
/** What is asked for ends just before it. */
const untilTime = time
  .transform((text) => Date.parse(text) + (text.includes('T') ? 0 : DAY_MS))
  .describe('a day (UTC), which is in it, or a moment, which is not')

const usageRoute = route({
  method: 'get',
  path: '/usage',
  summary:
    'Tokens and cost by agent, model, task, community, executor or day (UTC), of moments or of whole days (that of `to` too); the last 30 days if you do not say',
  tag,
  access: 'read',
  query: z.object({
    group_by: z.enum(usageGroups).default('agent'),
    from: sinceTime.optional(),
    to: untilTime.optional(),
  }),
  handle: async ({ context, query, read }) => {
    const to = query.to ?? context.clock.now() + 1
    const from = query.from ?? to - 30 * DAY_MS
    if (from > to) {
      throw new AppError('VALIDATION', 'The span ends before it begins.', {
        details: [{ path: 'query.from', message: 'is after `to`' }],
      })
    }
    const group = query.group_by
    const { results } = await read(usageStatements(context.db, group, from, to))
    const rows = (results[0]?.results ?? []) as unknown as UsageSums[]
    const total = results[1]?.results[0] as unknown as UsageSums
    return {
      group_by: group,
      from: presentTime(from),
      to: presentTime(to),
      usage: rows.map((row) => presentUsage(group, row)),
      total: presentSums(total),
    }
  },
})

export const budgetRoutes: Route[] = [
  route({
    method: 'get',
    path: '/system/budget-health',
    summary:
      'How much of each budget is used, and where it is heading: run rate a day, when its limit is reached',
    tag,
    access: 'read',
    handle: async (call) => {
      const { db, clock } = call.context
      const now = clock.now()
      const { results } = await call.read([selectBudgets(db, now), selectBudgetDays(db, now)])
      const [budgets, days] = results.map((result) => result.results as unknown)
      return presentHealth(budgets as PageBudget[], days as BudgetDay[], now)
    },
  }),
  route({
    method: 'get',
    path: '/budgets',
    summary: 'All budgets with what is spent and reserved now',
    tag,
    access: 'read',
    handle: async (call) => ({ budgets: (await readBudgets(call)).map(presentBudget) }),
  }),
  route({
    method: 'put',
    path: '/budgets/:id',
    summary:
      'Sets limits and thresholds of a budget; null lifts a limit, what is absent stays (admin)',
    tag,
    access: 'admin',
    body: budgetChange,
    handle: async ({ context, param, body }) => ({
      budget: presentBudget(await changeBudget(context, param('id'), body)),
    }),
  }),
  route({
    method: 'post',
    path: '/budgets',
    summary: 'Creates a budget; it counts from the beginning of its period (admin)',
    tag,
    access: 'admin',
    status: 201,
    body: budgetInput,
    handle: async (call) => {
      const done = await createBudget(call.context, call.actor(), call.body)
      return presentOnce(call, done, ({ budget, warnings }) => ({
        budget: presentBudget(budget),
        warnings,
      }))
    },
  }),
  route({
    method: 'delete',
    path: '/budgets/:id',
    summary: 'Takes a budget away; usage stays in the books (admin)',
    tag,
    access: 'admin',
    handle: async ({ context, param }) => {
      await removeBudget(context, param('id'))
      return { deleted: param('id') }
    },
  }),
  usageRoute,
  ...budgetAuditRoutes,
]
