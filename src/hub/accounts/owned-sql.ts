import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { manySql, type Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts } from '../schema/accounts'

const owned = alias(accounts, 'owned')

/** The accounts that an account claimed, as a list of ids for `IN`. */
export const ownedSql = (owner: SQLWrapper | AccountId): SQL =>
  sql`(SELECT ${owned.id} FROM ${accounts} ${owned} WHERE ${owned.ownerId} = ${owner})`

/** Selects the accounts that an account claimed. */
export const selectOwned = (owner: AccountId): Statement<{ id: AccountId }[]> =>
  manySql({ id: owned.id }, sql`FROM ${accounts} ${owned} WHERE ${owned.ownerId} = ${owner}`)
