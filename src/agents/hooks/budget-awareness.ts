import { describeBudget } from './describe-budget'
import type { Hook } from './hook'

/** Adds the state of the agent's budgets to the prompt, so that it can be brief when little is left. */
export const budgetAwareness: Hook = {
  name: 'budget-awareness',
  beforeModelCall: ({ status }, { budgets }) =>
    budgets.length === 0 ? undefined : { status: [...status, ...budgets.map(describeBudget)] },
}
