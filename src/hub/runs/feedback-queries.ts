import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { runFeedbackLimits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare, insertSelect } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import { personSql } from '../rules/people-sql'
import { readersSql } from '../rules/readable-sql'
import { isRunShownSql } from '../rules/traces-sql'
import { accounts } from '../schema/accounts'
import { activations, runFeedback } from '../schema/activations'
import type { Reader } from '../viewers/reader'

const x = alias(activations, 'x')
const a = alias(accounts, 'a')
const f = alias(runFeedback, 'f')
const h = alias(accounts, 'h')

/** Feedback as a column: 1 for a good answer, -1 for a bad one. */
type FeedbackValue = -1 | 1

const ownSql = (reader: SQLWrapper): SQL => sql`(SELECT r.id FROM ${readersSql(reader)} r)`

/** Whether the reader is a person who is signed in: no agent reads what people note about it. */
const isPersonSql = (reader: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${accounts} ${h} WHERE ${h.id} IN ${ownSql(reader)} AND ${h.kind} <> 'agent')`

/** Feedback of an account on a run. */
interface Feedback {
  activationId: ActivationId
  accountId: AccountId
  value: FeedbackValue
  note: string
  /** Milliseconds since the Unix epoch. */
  now: number
}

const targetFields = (v: Params<{ accountId: AccountId }>) => ({
  id: x.id,
  state: x.state,
  communityId: x.communityId,
  isPerson: flag(
    sql`EXISTS (SELECT 1 FROM ${accounts} ${h} WHERE ${h.id} = ${v.accountId} AND ${h.kind} <> 'agent')`,
  ),
})

/** Selects a run whose answer an account may rate, if its page shows the account what it is about. */
export const selectFeedbackTarget = prepare(
  (v: Params<{ id: string; accountId: AccountId; reader: Reader }>) =>
    oneSql(
      targetFields(v),
      sql`FROM ${activations} ${x} WHERE ${x.id} = ${v.id} AND ${isRunShownSql(v.reader)}`,
    ),
)

/** Selects whether a run is shown to a reader. */
export const selectIsRunShown = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    { isShown: flag(sql`1`) },
    sql`FROM ${activations} ${x} WHERE ${x.id} = ${id} AND ${isRunShownSql(reader)}`,
  ),
)

/** Saves the one feedback that an account has on a run that has ended. */
export const saveFeedback: (feedback: Feedback) => Statement<void> = prepare(
  (v: Params<Feedback>) =>
    write(
      insertSelect(
        runFeedback,
        {
          activationId: x.id,
          accountId: v.accountId,
          agentId: x.agentId,
          value: v.value,
          note: v.note,
          createdAt: v.now,
          updatedAt: v.now,
        },
        sql`FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'done'
          ON CONFLICT (${bare(runFeedback.activationId)}, ${bare(runFeedback.accountId)}) DO UPDATE SET
            ${bare(runFeedback.value)} = excluded.${bare(runFeedback.value)},
            ${bare(runFeedback.note)} = excluded.${bare(runFeedback.note)},
            ${bare(runFeedback.updatedAt)} = excluded.${bare(runFeedback.updatedAt)}`,
      ),
    ),
)

export const deleteFeedback: (of: { id: string; accountId: AccountId }) => Statement<void> =
  prepare((v: Params<{ id: string; accountId: AccountId }>) =>
    write(
      sql`DELETE FROM ${runFeedback} WHERE ${runFeedback.activationId} = ${v.id}
        AND ${runFeedback.accountId} = ${v.accountId}`,
    ),
  )

const entryFields = (reader: SQLWrapper) => ({
  activationId: f.activationId,
  account: personSql(a),
  value: f.value,
  /** Empty for readers who are not people. */
  note: sql<string>`iif(${isPersonSql(reader)}, ${f.note}, '')`,
  at: f.updatedAt,
  isOwn: flag(sql`${f.accountId} IN ${ownSql(reader)}`),
  /** All feedback that the reader may see, also what the list is too short for. */
  up: number(sql`sum(${f.value} = 1) OVER ()`),
  down: number(sql`sum(${f.value} = -1) OVER ()`),
})

/** Feedback of one account on a run, with the counts of all. */
export type FeedbackRow = RowOf<ReturnType<typeof entryFields>>

/** Selects the feedback on a run, the reader's own first, then the newest with a note. */
export const selectFeedback = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  manySql(
    entryFields(reader),
    sql`FROM ${activations} ${x} CROSS JOIN ${runFeedback} ${f} ON ${f.activationId} = ${x.id}
      JOIN ${accounts} ${a} ON ${a.id} = ${f.accountId}
      WHERE ${x.id} = ${id} AND ${isRunShownSql(reader)}
      ORDER BY ${f.accountId} IN ${ownSql(reader)} DESC, ${f.note} = '', ${f.updatedAt} DESC LIMIT 50`,
  ),
)

/** Selects the newest notes about an agent since a time, with the counts of all feedback since then. */
export const selectFeedbackOfAgent = prepare(
  ({ name, since, reader }: Params<{ name: string; since: number; reader: Reader }>) =>
    manySql(
      entryFields(reader),
      sql`FROM ${runFeedback} ${f} CROSS JOIN ${activations} ${x} ON ${x.id} = ${f.activationId}
        JOIN ${accounts} ${a} ON ${a.id} = ${f.accountId}
        WHERE ${f.agentId} = (SELECT ${h.id} FROM ${accounts} ${h} WHERE ${h.name} = ${name})
          AND ${f.updatedAt} >= ${since} AND ${isRunShownSql(reader)}
        ORDER BY ${f.note} = '', ${f.updatedAt} DESC LIMIT ${sql.raw(String(runFeedbackLimits.notesShown))}`,
    ),
)

const summaryFields = (reader: SQLWrapper) => {
  const own = sql`${f.accountId} IN ${ownSql(reader)}`
  return {
    activationId: x.id,
    /** Of the agent; null for one that cannot be replayed. */
    ownerId: nullable(
      sql<AccountId>`(SELECT ${a.ownerId} FROM ${accounts} ${a} WHERE ${a.id} = ${x.agentId})`,
    ),
    up: number(sql`sum(${f.value} = 1)`),
    down: number(sql`sum(${f.value} = -1)`),
    ownValue: nullable(sql<FeedbackValue>`max(iif(${own}, ${f.value}, NULL))`),
    ownNote: nullable(sql<string>`max(iif(${own}, ${f.note}, NULL))`),
  }
}

/** Counts of the feedback on a run, and the reader's own. */
export type FeedbackSummary = RowOf<ReturnType<typeof summaryFields>>

/** Selects the counts of the feedback on each run in a thread, with the reader's own. */
export const selectFeedbackInThread = prepare(
  ({ postId, reader }: Params<{ postId: string; reader: Reader }>) =>
    manySql(
      summaryFields(reader),
      sql`FROM ${activations} ${x} CROSS JOIN ${runFeedback} ${f} ON ${f.activationId} = ${x.id}
        WHERE ${x.postId} = ${postId} AND ${isRunShownSql(reader)} GROUP BY ${x.id}`,
    ),
)
