import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import { manySql, type Statement } from '../../shared/db/statement'
import { type Restriction, restrictionSql } from '../bans/ban-sql'
import type { Role } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { agents } from '../schema/definitions'
import { claims } from '../schema/people'

const a = alias(accounts, 'a')
const o = alias(accounts, 'o')
const g = alias(agents, 'g')

/** States of an account, of which `active` is none of the others. */
export const accountStates = [
  'active',
  'disabled',
  'banned',
  'muted',
  'pending',
  'deleted',
] as const
export type AccountState = (typeof accountStates)[number]

export interface PeopleFilter {
  /** Part of a name or display name. */
  text: string
  role: Role | null
  kind: 'human' | 'agent' | null
  state: AccountState | null
  /** `seq` of the last account of the previous page; null: the first page. */
  before: number | null
  limit: number
}

const isPendingSql = sql`EXISTS (SELECT 1 FROM ${claims} WHERE ${claims.accountId} = ${a.id})`

const listFields = (now: number) => ({
  seq: a.seq,
  name: a.name,
  kind: a.kind,
  role: a.role,
  isModerator: a.isModerator,
  displayName: a.displayName,
  createdAt: a.createdAt,
  disabledAt: a.disabledAt,
  deletedAt: a.deletedAt,
  isPending: flag(isPendingSql),
  restriction: restrictionSql(a, null, now),
  owner: nullable(o.name),
  isHosted: flag(sql`${g.accountId} IS NOT NULL`),
})

export type PersonRow = RowOf<ReturnType<typeof listFields>>

const stateConditions = (now: number): Record<AccountState, SQL> => {
  const kindOf = sql`coalesce(${restrictionSql(a, null, now)} ->> 'kind', '')`
  const isAllowed = sql`${a.disabledAt} IS NULL`
  return {
    active: sql`${isAllowed} AND ${kindOf} = '' AND NOT ${isPendingSql}`,
    disabled: sql`${a.disabledAt} IS NOT NULL AND ${a.deletedAt} IS NULL`,
    banned: sql`${isAllowed} AND ${kindOf} = 'ban'`,
    muted: sql`${isAllowed} AND ${kindOf} = 'mute'`,
    pending: isPendingSql,
    deleted: sql`${a.deletedAt} IS NOT NULL`,
  }
}

/** Selects accounts, newest first. Deleted ones only when the filter asks for them. */
export function selectPeople(filter: PeopleFilter, now: number): Statement<PersonRow[]> {
  const { text, role, kind, state, before, limit } = filter
  const conditions = [
    sql`${a.kind} <> 'system'`,
    before === null ? null : sql`${a.seq} < ${before}`,
    text === ''
      ? null
      : // not LIKE: D1 refuses patterns of more than 50 bytes
        sql`(instr(lower(${a.name}), lower(${text})) > 0 OR instr(lower(${a.displayName}), lower(${text})) > 0)`,
    role === null ? null : sql`${a.role} = ${role}`,
    kind === null ? null : sql`${a.kind} = ${kind}`,
    state === null ? sql`${a.deletedAt} IS NULL` : stateConditions(now)[state],
  ].filter((condition) => condition !== null)
  return manySql(
    listFields(now),
    sql`FROM ${accounts} ${a} LEFT JOIN ${accounts} ${o} ON ${o.id} = ${a.ownerId}
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      WHERE ${sql.join(conditions, sql` AND `)} ORDER BY ${a.seq} DESC LIMIT ${limit}`,
  )
}

/** Returns the state of an account. */
export function findAccountState(
  account: Pick<PersonRow, 'deletedAt' | 'disabledAt' | 'isPending'> & {
    restriction: Pick<Restriction, 'kind'> | null
  },
): AccountState {
  if (account.deletedAt !== null) return 'deleted'
  if (account.disabledAt !== null) return 'disabled'
  if (account.restriction) return account.restriction.kind === 'ban' ? 'banned' : 'muted'
  return account.isPending ? 'pending' : 'active'
}
