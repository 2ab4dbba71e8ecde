import { and, eq, gt, inArray, isNull, or, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { flag } from '../../shared/db/fields'
import {
  many,
  manySql,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { type ApiKey, accounts, apiKeys } from '../schema/accounts'
import { isAccountShutOutSql, isPendingSql } from '../viewers/ban-sql'
import {
  guardLimit,
  isExternalAgentSql,
  prepareForViewer,
  viewer,
  viewerCte,
} from '../viewers/queries'

const ownKey = alias(apiKeys, 'own')
const a = alias(accounts, 'a')

export const insertKey = (key: typeof apiKeys.$inferInsert): Statement<void> =>
  write(orm.insert(apiKeys).values(key))

type NewKeyRow = Omit<SecretRow, 'expiresAt'> &
  Pick<ApiKey, 'accountId' | 'label' | 'scopes' | 'expiresAt'>

/**
 * Inserts a key that expires with the key `askedBy` or earlier; nothing when that one is not valid any
 * more. Answers whether it did. For an account that has as many keys as it may have, the label is null:
 * that fails the constraint `api_keys.label` and with it the whole batch.
 *
 * @param askedBy null: the admin key, which does not expire
 * @param replaces id of the key that this one replaces, which does not count
 */
export const insertKeyWithin = (
  { id, accountId, hash, label, scopes, createdAt, expiresAt }: NewKeyRow,
  askedBy: string | null,
  replaces = '',
): Statement<boolean> => {
  const asking = alias(apiKeys, 'asking')
  const k = alias(apiKeys, 'k')
  const own = askedBy === null ? sql`NULL` : sql`${asking.expiresAt}`
  const isValid = ({ expiresAt: at }: { expiresAt: SQLWrapper }) =>
    sql`(${at} IS NULL OR ${at} > ${createdAt})`
  const keyCount = sql`(SELECT count(*) FROM ${apiKeys} ${k} WHERE ${k.accountId} = ${accountId}
    AND ${k.kind} = 'key' AND ${k.id} <> ${replaces} AND ${isValid(k)})`
  return writeChanges(
    insertSelect(
      apiKeys,
      {
        id,
        accountId,
        hash,
        kind: 'key',
        createdAt,
        label: sql`iif(${keyCount} < ${limits.keysPerAccountMax}, ${label}, NULL)`,
        scopes: sql`${JSON.stringify(scopes)}`,
        expiresAt: sql`min(coalesce(${expiresAt}, ${own}), coalesce(${own}, ${expiresAt}))`,
      },
      askedBy === null
        ? sql`WHERE true`
        : sql`FROM ${apiKeys} ${asking} WHERE ${asking.id} = ${askedBy} AND ${isValid(asking)}`,
    ),
  )
}

/** Deletes the token of an account's feeds. */
export const deleteFeedToken = (accountId: AccountId): Statement<boolean> =>
  writeChanges(
    orm.delete(apiKeys).where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.kind, 'feed'))),
  )

/** Selects the account that a feed's token reads for, unless it may not read any more. */
export const selectFeedAccount = prepare(({ hash, now }: Params<{ hash: string; now: number }>) =>
  oneSql(
    { id: a.id },
    sql`FROM ${apiKeys} ${ownKey} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${ownKey.accountId}
      WHERE ${ownKey.hash} = ${hash} AND ${ownKey.kind} = 'feed'
        AND NOT ${isAccountShutOutSql(a, now)} AND NOT ${isPendingSql(a)}`,
  ),
)

/** Selects when the viewer's account got the token of its feeds; nothing without one. */
export const selectOwnFeedToken = prepareForViewer((v) =>
  oneSql(
    { createdAt: ownKey.createdAt },
    sql`FROM ${viewer} JOIN ${apiKeys} ${ownKey} ON ${ownKey.accountId} = ${viewer.id} AND ${ownKey.kind} = 'feed'`,
    viewerCte(v),
  ),
)

/** Selects what a key may do, and until when. */
export const selectKeyLimits = (
  id: string,
): Statement<Pick<ApiKey, 'scopes' | 'expiresAt'> | undefined> =>
  one(
    orm
      .select({ scopes: apiKeys.scopes, expiresAt: apiKeys.expiresAt })
      .from(apiKeys)
      .where(eq(apiKeys.id, id)),
  )

/** Deletes a key of an account; answers whether the account had it. */
export const deleteKey = (accountId: AccountId, keyId: string): Statement<boolean> =>
  writeChanges(
    orm.delete(apiKeys).where(and(eq(apiKeys.id, keyId), eq(apiKeys.accountId, accountId))),
  )

const opened = alias(apiKeys, 'opened')

/** Selects a key with the sessions and links that end with it, or those that end with a passkey or an identity. */
export const selectOpenedWith = (id: string): Statement<{ id: string }[]> =>
  many(
    orm
      .select({ id: opened.id })
      .from(opened)
      .where(
        or(
          eq(opened.id, id),
          eq(opened.openedBy, id),
          eq(opened.passkeyId, id),
          eq(opened.identityId, id),
        ),
      ),
  )

/** Expires a rotated key and the sessions opened with it at `at`, unless they expire earlier. */
export const expireKey = (accountId: AccountId, keyId: string, at: number): Statement<void> =>
  write(
    orm
      .update(apiKeys)
      .set({ expiresAt: sql`min(coalesce(${apiKeys.expiresAt}, ${at}), ${at})` })
      .where(
        and(
          eq(apiKeys.accountId, accountId),
          or(and(eq(apiKeys.id, keyId), eq(apiKeys.kind, 'key')), eq(apiKeys.openedBy, keyId)),
        ),
      ),
  )

/** Selects a key of an account by id, expired or not. */
export const selectKey = (
  accountId: AccountId,
  keyId: string,
): Statement<{ id: string } | undefined> =>
  one(
    orm
      .select({ id: apiKeys.id })
      .from(apiKeys)
      .where(and(eq(apiKeys.id, keyId), eq(apiKeys.accountId, accountId), eq(apiKeys.kind, 'key'))),
  )

/** Row of a new secret, without its account and kind. */
export type SecretRow = Pick<ApiKey, 'id' | 'hash' | 'createdAt'> & { expiresAt: number }

/** Selects the keys of an account that have not expired, without those of sessions and links. */
export const selectKeys = (accountId: AccountId, now: number): Statement<ApiKey[]> =>
  many(
    orm
      .select()
      .from(apiKeys)
      .where(
        and(
          eq(apiKeys.accountId, accountId),
          inArray(apiKeys.kind, ['key', 'service']),
          or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, now)),
        ),
      )
      .orderBy(apiKeys.createdAt),
  )

/** Selects the keys of the viewer's account that have not expired, the last created first. */
export const selectOwnKeys = prepareForViewer((v) =>
  manySql(
    {
      id: ownKey.id,
      label: ownKey.label,
      scopes: ownKey.scopes,
      createdAt: ownKey.createdAt,
      expiresAt: ownKey.expiresAt,
      lastUsedAt: ownKey.lastUsedAt,
    },
    sql`FROM ${viewer} JOIN ${apiKeys} ${ownKey} ON ${ownKey.accountId} = ${viewer.id}
      WHERE ${ownKey.kind} IN ('key', 'service')
        AND (${ownKey.expiresAt} IS NULL OR ${ownKey.expiresAt} > ${v.now})
      ORDER BY ${ownKey.createdAt} DESC, ${ownKey.id} DESC LIMIT 200`,
    viewerCte(v),
  ),
)

/** A key, as its account sees it. */
export type OwnKey = Pick<
  ApiKey,
  'id' | 'label' | 'scopes' | 'createdAt' | 'expiresAt' | 'lastUsedAt'
>

/** Selects when the key or session of a request expires; nothing for the admin key. */
export const selectOwnExpiry = prepareForViewer((v) =>
  oneSql(
    { expiresAt: ownKey.expiresAt },
    sql`FROM ${viewer} JOIN ${apiKeys} ${ownKey} ON ${ownKey.id} = ${viewer}.key_id`,
    viewerCte(v),
  ),
)

const s = alias(apiKeys, 's')

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
