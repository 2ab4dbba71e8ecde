import { and, eq, gt, lte, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { mainBudgetOrderSql } from '../../hub/budgets/scope-sql'
import { selectCommunities } from '../../hub/communities/queries'
import { budgets, budgetWindows } from '../../hub/schema/budgets'
import type { RowOf } from '../../shared/db/fields'
import { one, orm, type Params, prepare } from '../../shared/db/statement'
import { type FeedPage, selectFeedRows, toReader } from '../posts/feed-queries'
import { selectHostedAgents, selectRunningActivations } from '../posts/page-queries'

const main = alias(budgets, 'main')

const spentFields = { period: budgets.period, spentMicrousd: budgetWindows.spentMicrousd }

export type SpentRow = RowOf<typeof spentFields>

/** Selects the spending in the current window of the hub's main budget. */
const selectSpent = prepare(({ now }: Params<{ now: number }>) =>
  one(
    orm
      .select(spentFields)
      .from(budgets)
      .innerJoin(
        budgetWindows,
        and(
          eq(budgetWindows.budgetId, budgets.id),
          lte(budgetWindows.startsAt, now),
          gt(budgetWindows.endsAt, now),
        ),
      )
      .where(
        sql`${budgets.id} = (SELECT ${main.id} FROM ${budgets} ${main}
          WHERE ${main.scope} = 'hub' ORDER BY ${mainBudgetOrderSql(main)} LIMIT 1)`,
      ),
  ),
)

/** Returns the statements for everything the home page shows. */
export const homeStatements = (page: FeedPage, now: number, reader = toReader(page.viewer)) => ({
  rows: selectFeedRows(page),
  running: selectRunningActivations(reader),
  agents: selectHostedAgents(),
  communities: selectCommunities(reader, 20),
  spent: selectSpent({ now }),
})
