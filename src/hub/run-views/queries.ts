import { sql } from 'drizzle-orm'
import { runLists } from '../../shared/config'
import {
  manySql,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { bare, insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { readersSql } from '../communities/readable-sql'
import { runViews } from '../schema/run-feedback'
import type { Reader } from '../viewers/reader'

/** A filter of the list of runs under a name. */
export interface RunView {
  name: string
  /** Query string of the list. */
  query: string
}

/** Selects the views of a reader, by name. */
export const selectRunViews: (of: { reader: Reader }) => Statement<RunView[]> = prepare(
  ({ reader }: Params<{ reader: Reader }>) =>
    manySql(
      { name: runViews.name, query: runViews.query },
      sql`FROM ${runViews} WHERE ${runViews.accountId} IN (SELECT r.id FROM ${readersSql(reader)} r)
        ORDER BY ${runViews.name} LIMIT ${sql.raw(String(runLists.viewsMax))}`,
    ),
)

type Saved = RunView & { accountId: AccountId; now: number }

/** Saves a view, in place of one with the same name. Answers false when the account has too many. */
export const saveRunView: (view: Saved) => Statement<boolean> = prepare((v: Params<Saved>) =>
  writeChanges(
    insertSelect(
      runViews,
      { accountId: v.accountId, name: v.name, query: v.query, createdAt: v.now },
      sql`WHERE (SELECT count(*) FROM ${runViews} WHERE ${runViews.accountId} = ${v.accountId}
          AND ${runViews.name} <> ${v.name}) < ${sql.raw(String(runLists.viewsMax))}
        ON CONFLICT (${bare(runViews.accountId)}, ${bare(runViews.name)})
          DO UPDATE SET ${bare(runViews.query)} = excluded.${bare(runViews.query)}`,
    ),
  ),
)

type Named = { accountId: AccountId; name: string }

export const deleteRunView: (of: Named) => Statement<void> = prepare((v: Params<Named>) =>
  write(
    sql`DELETE FROM ${runViews} WHERE ${runViews.accountId} = ${v.accountId} AND ${runViews.name} = ${v.name}`,
  ),
)
