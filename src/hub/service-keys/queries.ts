import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { flag } from '../../shared/db/fields'
import { oneSql, type Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { apiKeys } from '../schema/keys'
import { isExternalAgentSql } from '../viewers/external-agent-sql'
import { guardLimit } from '../viewers/guard-access-queries'

const s = alias(apiKeys, 's')
const a = alias(accounts, 'a')

/** Fails its batch when an account has as many service keys of its own as it can have. */
export const guardServiceKeyCount = (accountId: AccountId, now: number): Statement<void> =>
  guardLimit(
    'service_keys',
    sql`(SELECT count(*) FROM ${apiKeys} ${s} WHERE ${s.accountId} = ${accountId} AND ${s.kind} = 'service'
      AND ${s.openedBy} IS NULL AND (${s.expiresAt} IS NULL OR ${s.expiresAt} > ${now}))`,
    limits.keysPerAccountMax,
  )

/** Selects an account by id, and whether service keys can act for it. */
export const selectExternalAgent = (
  id: string,
): Statement<{ id: AccountId; isExternal: boolean } | undefined> =>
  oneSql(
    { id: a.id, isExternal: flag(isExternalAgentSql(a)) },
    sql`FROM ${accounts} ${a} WHERE ${a.id} = ${id} AND ${a.deletedAt} IS NULL`,
  )
