import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { flag } from '../../shared/db/fields'
import { oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import {
  apiKeys,
  claims,
  invitations,
  passkeys,
  runnerKeys,
  signInAttempts,
} from '../schema/accounts'

interface Holder {
  /** SHA-256 of a key or of a session's token, hex. */
  hash: string
  now: number
  adminKeyHash: string
}

/** Selects the account of a key or session of any kind that has not expired, by one row of an index. */
export const selectKeyHolder: (holder: Holder) => Statement<{ accountId: AccountId } | undefined> =
  prepare((v: Params<Holder>) =>
    oneSql(
      { accountId: sql<AccountId>`account_id` },
      sql`FROM (SELECT ${apiKeys.accountId} FROM ${apiKeys} WHERE ${apiKeys.hash} = ${v.hash}
          AND ${apiKeys.kind} IN ('key', 'service', 'session') AND (${apiKeys.expiresAt} IS NULL OR ${apiKeys.expiresAt} > ${v.now})
          AND (${apiKeys.adminKeyHash} IS NULL OR ${apiKeys.adminKeyHash} = ${v.adminKeyHash})
        UNION ALL SELECT ${runnerKeys.accountId} FROM ${runnerKeys} WHERE ${runnerKeys.hash} = ${v.hash}) LIMIT 1`,
    ),
  )

interface Shown {
  /** SHA-256, hex. */
  hash: string
  /** The id of a passkey, which is no secret: its signature is checked after that. */
  text: string
  now: number
}

const hasSql = (table: SQLWrapper, condition: SQL): SQL =>
  sql`EXISTS (SELECT 1 FROM ${table} WHERE ${condition})`

/** Selects whether the hub gave out what a request signs in or joins with, by a row of an index for each kind. */
export const selectIsGivenOut: (shown: Shown) => Statement<{ isGivenOut: boolean } | undefined> =
  prepare((v: Params<Shown>) =>
    oneSql(
      {
        isGivenOut: flag(sql`(${hasSql(
          apiKeys,
          sql`${apiKeys.hash} = ${v.hash} AND ${apiKeys.kind} IN ('key', 'link', 'feed')
            AND (${apiKeys.expiresAt} IS NULL OR ${apiKeys.expiresAt} > ${v.now})`,
        )}
          OR ${hasSql(signInAttempts, sql`${signInAttempts.id} = ${v.hash} AND ${signInAttempts.expiresAt} > ${v.now}`)}
          OR ${hasSql(
            invitations,
            sql`${invitations.hash} = ${v.hash} AND ${invitations.usedAt} IS NULL
            AND ${invitations.revokedAt} IS NULL AND ${invitations.expiresAt} > ${v.now}`,
          )}
          OR ${hasSql(claims, sql`${claims.hash} = ${v.hash} AND ${claims.expiresAt} > ${v.now}`)}
          OR ${hasSql(passkeys, sql`${passkeys.credentialId} = ${v.text}`)})`),
      },
      sql``,
    ),
  )
