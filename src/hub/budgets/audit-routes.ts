import * as z from 'zod'
import { countAnswer, microusdAnswer, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import { presentIdempotent, type Route, route } from '../http/route'
import { budgets } from '../schema/budgets'
import { auditBudgets, repairBudgets } from './audit'
import type { WindowDifference } from './audit-queries'

const differenceAnswer = z
  .object({
    budget_id: z.string(),
    scope: z.enum(budgets.scope.enumValues),
    scope_id: z.string(),
    account_id: z
      .string()
      .nullable()
      .describe('The account that has the window, in a budget of its role; else null.'),
    starts_at: timeAnswer,
    ends_at: timeAnswer,
    counted_microusd: microusdAnswer,
    events_microusd: microusdAnswer.describe('The recorded usage, in millionths of a US dollar.'),
    counted_tokens: countAnswer,
    events_tokens: countAnswer.describe('The recorded usage.'),
  })
  .meta({ id: 'BudgetDifference' })

const presentDifference = presenterOf(differenceAnswer).from<WindowDifference>({})

export const budgetAuditRoutes: Route[] = [
  route({
    method: 'get',
    path: '/budgets/audit',
    summary: 'Lists the windows whose budget counters differ from recorded usage (admin)',
    tag: 'budgets',
    access: 'admin',
    rate: 'read',
    answer: z.object({ is_consistent: z.boolean(), differences: z.array(differenceAnswer) }),
    handle: async ({ context }) => {
      const differences = await auditBudgets(context)
      return {
        is_consistent: differences.length === 0,
        differences: differences.map(presentDifference),
      }
    },
  }),
  route({
    method: 'post',
    path: '/budgets/audit/repair',
    summary:
      'Corrects the budget counters that differ from recorded usage, with an audit entry (admin)',
    tag: 'budgets',
    access: 'admin',
    rate: 'write',
    answer: z.object({ repaired: z.array(differenceAnswer) }),
    handle: async (call) => {
      const done = await repairBudgets(call.context, call.actor())
      return presentIdempotent(call, done, (repaired) => ({
        repaired: repaired.map(presentDifference),
      }))
    },
  }),
]
