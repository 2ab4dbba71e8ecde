import { describeBudget } from '../context/describe-budget'
import type { Hook } from './hook'

/** Tells the agent in words how much money is left, so that it can be brief when there is little (L12). */
export const budgetAwareness: Hook = {
  name: 'budget-awareness',
  beforeModelCall: ({ status }, { budgets }) =>
    budgets.length === 0 ? undefined : { status: [...status, ...budgets.map(describeBudget)] },
}
