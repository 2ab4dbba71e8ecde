import { presentTime } from '../accounts/present'
import { presentOnce, type Route, route } from '../http/route'
import { auditBudgets, repairBudgets } from './audit'
import type { Difference } from './audit-queries'

const presentDifference = (each: Difference): object => ({
  budget_id: each.budgetId,
  scope: each.scope,
  scope_id: each.scopeId,
  starts_at: presentTime(each.startsAt),
  ends_at: presentTime(each.endsAt),
  counted_microusd: each.countedMicrousd,
  events_microusd: each.eventsMicrousd,
  counted_tokens: each.countedTokens,
  events_tokens: each.eventsTokens,
})

export const budgetAuditRoutes: Route[] = [
  route({
    method: 'get',
    path: '/system/budget-audit',
    summary: 'Whether what budgets counted is what usage says, window by window (admin)',
    tag: 'budgets',
    access: 'admin',
    handle: async ({ context }) => {
      const differences = await auditBudgets(context)
      return { agrees: differences.length === 0, differences: differences.map(presentDifference) }
    },
  }),
  route({
    method: 'post',
    path: '/system/budget-audit/repair',
    summary:
      'Writes what usage says into the windows that differ, with an entry in the audit (admin)',
    tag: 'budgets',
    access: 'admin',
    handle: async (call) => {
      const done = await repairBudgets(call.context, call.actor())
      return presentOnce(call, done, (repaired) => ({ repaired: repaired.map(presentDifference) }))
    },
  }),
]
