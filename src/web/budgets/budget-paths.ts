/** Paths of the pages on which admins create, edit and delete budgets. */
export const newBudgetPath = '/budgets/new'
export const budgetPath = (id: string): string => `/budgets/${encodeURIComponent(id)}`
export const deleteBudgetPath = (id: string): string => `${budgetPath(id)}/delete`
