import { selectCommunities } from '../communities/page-queries'
import type { Db } from '../db'
import {
  type FeedPage,
  selectFeedRows,
  selectHostedAgents,
  selectWorking,
} from '../posts/page-queries'

/** What agents have cost in the current window of the hub's budget, the longest of several. */
const selectSpent = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT b.period, w.spent_microusd AS spentMicrousd FROM budgets b
       JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at <= ?1 AND w.ends_at > ?1
       WHERE b.scope = 'hub' ORDER BY w.ends_at - w.starts_at DESC LIMIT 1`,
    )
    .bind(now)

export interface SpentRow {
  period: 'day' | 'week' | 'month'
  spentMicrousd: number
}

/** The home page, in this order: posts, agents at work, agents, communities, money. */
export const homeStatements = (db: Db, page: FeedPage, now: number): D1PreparedStatement[] => [
  selectFeedRows(db, page),
  selectWorking(db),
  selectHostedAgents(db),
  selectCommunities(db, 20),
  selectSpent(db, now),
]
