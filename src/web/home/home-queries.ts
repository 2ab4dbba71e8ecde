import { and, eq, gt, lte, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { selectCommunities } from '../../hub/communities/queries'
import { mainBudgetOrderSql } from '../../hub/rules/payers-sql'
import { canReadPostSql, isPostReadableSql } from '../../hub/rules/readable-sql'
import { accounts, invitations } from '../../hub/schema/accounts'
import { activations } from '../../hub/schema/activations'
import { budgets, budgetWindows } from '../../hub/schema/budgets'
import { agents } from '../../hub/schema/definitions'
import { inboxItems } from '../../hub/schema/inbox'
import { posts } from '../../hub/schema/posts'
import { type ViewerValues, viewer, viewerCte, viewerValues } from '../../hub/viewers/queries'
import type { Reader } from '../../hub/viewers/reader'
import { flag, number, type RowOf } from '../../shared/db/fields'
import { one, oneSql, orm, type Params, prepare } from '../../shared/db/statement'
import { shippedAgents } from '../../shared/starter-agent'
import {
  type FeedPage,
  selectFeedRows,
  selectHostedAgents,
  selectRunningActivations,
  toReader,
} from '../posts/post-queries'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const main = alias(budgets, 'main')
const p = alias(posts, 'p')
const i = alias(inboxItems, 'i')

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

const firstStepsFields = {
  /** Whether anybody has made an agent run. */
  hasAsked: flag(
    sql`EXISTS (SELECT 1 FROM ${activations} WHERE ${activations.task} <> 'exploration')`,
  ),
  /** Whether there is an agent beside those that every hub has. */
  hasOwnAgent:
    flag(sql`EXISTS (SELECT 1 FROM ${agents} ${g} JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId}
    WHERE ${a.name} NOT IN (SELECT value FROM json_each(${JSON.stringify(shippedAgents)})))`),
  hasInvited: flag(sql`EXISTS (SELECT 1 FROM ${invitations})`),
}

export type FirstStepsRow = RowOf<typeof firstStepsFields>

/** Selects which first steps the hub knows of, for an admin; nobody else gets a row, and nothing is counted. */
const selectFirstSteps = prepare((values: Params<ViewerValues>) =>
  oneSql(
    firstStepsFields,
    sql`FROM ${viewer} WHERE ${viewer.role} = 'admin' AND ${viewer.kind} = 'human'`,
    viewerCte(values),
  ),
)

/** What a line counts up to. */
export const sinceCountMax = 99

interface SinceValues extends ViewerValues {
  since: number
  reader: Reader
}

const sinceFields = ({ since, reader }: Params<SinceValues>) => ({
  /** New listed posts of others. */
  threads: number(sql`(SELECT count(*) FROM (SELECT 1 FROM ${posts} ${p} INDEXED BY posts_new
    WHERE ${p.deletedAt} IS NULL AND ${p.isListed} = 1 AND ${p.createdAt} > ${since}
      AND ${p.authorId} <> ${viewer.id} AND ${isPostReadableSql(p, reader)} LIMIT ${countedMax}))`),
  /** Replies to the viewer, of people and agents. */
  answers: number(sql`(SELECT count(*) FROM (SELECT 1 FROM ${inboxItems} ${i} INDEXED BY inbox_of
    WHERE ${i.accountId} = ${viewer.id} AND ${i.createdAt} > ${since} AND ${i.type} IN ('reply', 'comment')
      AND ${canReadPostSql(i.postId, reader)} LIMIT ${countedMax}))`),
})

const countedMax = sql.raw(String(sinceCountMax + 1))

export type SinceRow = RowOf<ReturnType<typeof sinceFields>>

/** Counts what is new for the viewer since a time; each count stops one above `sinceCountMax`. */
const selectSince = prepare((values: Params<SinceValues>) =>
  oneSql(sinceFields(values), sql`FROM ${viewer}`, viewerCte(values)),
)

/** What a browser remembers, besides the session. */
interface Remembered {
  /** False when the first steps were dismissed. */
  hasFirstSteps: boolean
  /** The end of the stay before this one; null when there was none. */
  since: number | null
}

/** Returns the statements for everything the home page shows. */
export const homeStatements = (
  page: FeedPage,
  now: number,
  { hasFirstSteps, since }: Remembered,
  reader = toReader(page.viewer),
) => ({
  since:
    since === null
      ? null
      : selectSince({ ...viewerValues(page.viewer.credential, now), since, reader }),
  firstSteps: hasFirstSteps ? selectFirstSteps(viewerValues(page.viewer.credential, now)) : null,
  rows: selectFeedRows(page),
  running: selectRunningActivations({ reader }),
  agents: selectHostedAgents(),
  communities: selectCommunities(reader, 20),
  spent: selectSpent({ now }),
})
