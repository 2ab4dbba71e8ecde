import { and, eq, gt, inArray, isNull, not, or, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { many, one, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { isShutOutSql } from '../bans/ban-sql'
import { type ApiKey, apiKeys } from '../schema/keys'

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
        ...{ id, accountId, hash, kind: 'key', createdAt },
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

export const deleteKeyByHash = (hash: string, kind: ApiKey['kind']): Statement<void> =>
  write(orm.delete(apiKeys).where(and(eq(apiKeys.hash, hash), eq(apiKeys.kind, kind))))

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

/**
 * Creates a session for the account of an unexpired key or sign-in link with this hash; otherwise, and
 * for an account that is disabled or banned, nothing. The session has the scopes of the key or link. It expires with its key, but not with a link.
 */
export const insertSession = (
  session: SecretRow,
  source: { hash: string; kind: 'key' | 'link' },
): Statement<{ accountId: AccountId; expiresAt: number | null } | undefined> => {
  const isKey = sql`${apiKeys.kind} = 'key'`
  const { expiresAt } = session
  return one(
    orm
      .insert(apiKeys)
      .select(
        orm
          .select({
            id: sql<string>`${session.id}`.as('id'),
            accountId: apiKeys.accountId,
            hash: sql<string>`${session.hash}`.as('hash'),
            kind: sql<'session'>`'session'`.as('kind'),
            label: sql<string>`''`.as('label'),
            scopes: apiKeys.scopes,
            createdAt: sql<number>`${session.createdAt}`.as('created_at'),
            expiresAt:
              sql<number>`iif(${isKey}, min(coalesce(${apiKeys.expiresAt}, ${expiresAt}), ${expiresAt}), ${expiresAt})`.as(
                'expires_at',
              ),
            lastUsedAt: sql<null>`NULL`.as('last_used_at'),
            openedBy: sql<string | null>`iif(${isKey}, ${apiKeys.id}, NULL)`.as('opened_by'),
          })
          .from(apiKeys)
          .where(
            and(
              eq(apiKeys.hash, source.hash),
              eq(apiKeys.kind, source.kind),
              or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, session.createdAt)),
              not(isShutOutSql(apiKeys.accountId, session.createdAt)),
            ),
          ),
      )
      .returning({ accountId: apiKeys.accountId, expiresAt: apiKeys.expiresAt }),
  )
}

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
