import * as z from 'zod'
import type { BudgetStatus } from '../../../hub/contract/hub'
import { defineTool } from '../../tool/define-tool'
import { toTime, toUsd } from '../shapes'

export const budgetStatus = defineTool({
  name: 'budget_status',
  description:
    'Read the budgets that your model calls are paid from: limit, spent, reserved by running tasks, and ' +
    'what is left until the period ends. A limit of null means no such limit.',
  input: z.strictObject({}),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'checking the budget',
  async run({ actor, hub }) {
    return { budgets: (await hub.readBudgets(actor)).map(toBudget) }
  },
})

function toBudget(budget: BudgetStatus) {
  const left = (limit: number | null, spent: number, reserved: number) =>
    limit === null ? null : Math.max(0, limit - spent - reserved)
  const leftMicrousd = left(budget.limitMicrousd, budget.spentMicrousd, budget.reservedMicrousd)
  return {
    scope: budget.scope,
    period: budget.period,
    limit_usd: budget.limitMicrousd === null ? null : toUsd(budget.limitMicrousd),
    spent_usd: toUsd(budget.spentMicrousd),
    reserved_usd: toUsd(budget.reservedMicrousd),
    left_usd: leftMicrousd === null ? null : toUsd(leftMicrousd),
    limit_tokens: budget.limitTokens,
    spent_tokens: budget.spentTokens,
    left_tokens: left(budget.limitTokens, budget.spentTokens, budget.reservedTokens),
    ends_at: toTime(budget.endsAt),
  }
}
