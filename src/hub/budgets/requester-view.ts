import { requesterLists } from '../../shared/config'
import type { PageBudget } from './page-queries'
import type { RequesterLine } from './requester-queries'

/** Spending of the hub's main budget in its current window, by who asked. */
export interface RequesterSpending {
  budget: PageBudget
  /** For admins the accounts with the greatest amounts and the tasks that nobody asked for; for others themselves. */
  lines: RequesterLine[]
  /** What the window has spent besides. */
  others: Pick<PageBudget, 'spentMicrousd' | 'spentTokens'>
}

/** Who reads: only admins see what is spent on behalf of others. */
interface SpendingViewer {
  isAdmin: boolean
}

/** Returns what a viewer sees; null for anonymous viewers, and while no window is open. */
export function toRequesterSpending(
  all: RequesterLine[],
  budgets: PageBudget[],
  viewer: SpendingViewer | null,
): RequesterSpending | null {
  const budget = budgets.find(({ id }) => id === all[0]?.budgetId)
  if (!viewer || !budget) return null
  const lines = all.filter((line) =>
    viewer.isAdmin ? line.isTask || isAmongGreatest(line) : line.isOwn,
  )
  const rest = (name: 'spentMicrousd' | 'spentTokens') =>
    Math.max(
      0,
      lines.reduce((left, line) => left - line[name], budget[name]),
    )
  return {
    budget,
    lines,
    others: { spentMicrousd: rest('spentMicrousd'), spentTokens: rest('spentTokens') },
  }
}

const isAmongGreatest = ({ place, spentMicrousd, spentTokens }: RequesterLine): boolean =>
  place <= requesterLists.shown && spentMicrousd + spentTokens > 0

/** Returns the task of a line such as `task:exploration`; null for an account. */
export const readTask = ({ requester, isTask }: RequesterLine): string | null =>
  isTask ? requester.slice('task:'.length) : null
