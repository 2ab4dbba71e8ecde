import { requesterLists } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { PageBudget } from './page-queries'
import { countCalls, type RequesterLine, type UncountedCalls } from './requester-queries'

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

/**
 * Whether a sweep looks for calls to count: those of the last twelve minutes of an hour do, since sweeps are at most
 * ten minutes apart, so that the others of an idle hub read nothing for it.
 */
export const isCountingTime = (now: number): boolean =>
  now % requesterLists.lagMs >= requesterLists.lagMs * 0.8

/** Counts the calls that a sweep found, but for those of the last hour, of which some may not be written yet. */
export async function countRequesters(
  db: Db,
  due: UncountedCalls | null | undefined,
  now: number,
): Promise<void> {
  if (due) await batch(db, { counted: countCalls(due, now - requesterLists.lagMs) })
}
