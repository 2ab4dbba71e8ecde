import type { Db } from '../../hub/db'
import { selectCommunities } from '../communities/page-queries'
import {
  type FeedPage,
  selectFeedRows,
  selectHostedAgents,
  selectRunningActivations,
} from '../posts/page-queries'

/** Selects the spending in the current window of the hub's budget; of several budgets, the longest period. */
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

/** Reads of the home page, in this order: posts, running agents, agents, communities, spending. */
export const homeStatements = (db: Db, page: FeedPage, now: number): D1PreparedStatement[] => [
  selectFeedRows(db, page),
  selectRunningActivations(db),
  selectHostedAgents(db),
  selectCommunities(db, 20),
  selectSpent(db, now),
]
