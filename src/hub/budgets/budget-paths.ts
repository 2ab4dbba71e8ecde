/** Where an admin makes, changes and takes away budgets. */
export const newBudgetPath = '/budgets/new'
export const budgetPath = (id: string): string => `/budgets/${encodeURIComponent(id)}`
export const removalPath = (id: string): string => `${budgetPath(id)}/delete`
