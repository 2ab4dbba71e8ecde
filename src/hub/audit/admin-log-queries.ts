import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { nullable, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
import { accounts } from '../schema/accounts'
import { adminLog } from '../schema/admin-log'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { matchesNameSql } from './name-filter-sql'

const l = alias(adminLog, 'l')
const a = alias(accounts, 'a')
const t = alias(accounts, 't')

const entryFields = {
  id: l.id,
  at: l.createdAt,
  accountId: l.accountId,
  /** Null when the account is deleted. */
  accountName: nullable(a.name),
  accountKind: nullable(a.kind),
  action: l.action,
  targetType: l.targetType,
  targetId: l.targetId,
  /** Name of the account that the target is; null for other targets and deleted accounts. */
  targetName: nullable(t.name),
  reason: l.reason,
  before: l.before,
  after: l.after,
}

/** An entry of the admin log as the page and the API present it. */
export type AdminLogRow = RowOf<typeof entryFields>

export interface AdminLogFilter {
  /** Name or id of the account that acted. */
  account?: string | undefined
  /** Such as `role.change`, or `policy.*`. */
  action?: string | undefined
  /** Id of the target, or the name of an account. */
  target?: string | undefined
  /** Milliseconds since the epoch; `until` is exclusive. */
  since?: number | undefined
  until?: number | undefined
}

export interface AdminLogList extends AdminLogFilter {
  /** Keyset cursor: time and id of the last entry of the previous page. */
  before: [number, string] | null
  limit: number
}

interface ListValues extends ViewerValues {
  at: number
  id: string
  account: string | null
  action: string | null
  target: string | null
  since: number
  until: number
  limit: number
}

const farFuture = 9_000_000_000_000_000

const selectPage = prepare((v: Params<ListValues>) =>
  manySql(
    entryFields,
    sql`FROM ${adminLog} ${l} LEFT JOIN ${accounts} ${a} ON ${a.id} = ${l.accountId}
        LEFT JOIN ${accounts} ${t} ON ${t.id} = ${l.targetId}
      WHERE (${l.createdAt}, ${l.id}) < (${v.at}, ${v.id})
        AND EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin')
        AND (${v.account} IS NULL OR ${l.accountId} = ${v.account} OR ${a.name} = ${v.account})
        AND ${matchesNameSql(l.action, v.action)}
        AND (${v.target} IS NULL OR ${l.targetId} = ${v.target} OR ${t.name} = ${v.target})
        AND ${l.createdAt} >= ${v.since} AND ${l.createdAt} < ${v.until}
      ORDER BY ${l.createdAt} DESC, ${l.id} DESC LIMIT ${v.limit}`,
    viewerCte(v),
  ),
)

/** Selects the entries that match the filter, newest first; none for anybody but an admin. */
export function selectAdminLog(
  { credential, now }: { credential: Credential | null; now: number },
  list: AdminLogList,
): Statement<AdminLogRow[]> {
  const [at, id] = list.before ?? [farFuture, '']
  return selectPage({
    ...viewerValues(credential, now),
    at,
    id,
    limit: list.limit,
    account: list.account ?? null,
    action: list.action ?? null,
    target: list.target ?? null,
    since: list.since ?? 0,
    until: list.until ?? farFuture,
  })
}
