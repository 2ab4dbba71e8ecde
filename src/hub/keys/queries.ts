import { and, eq, gt, inArray, isNull, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import {
  many,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts, adminAccountId } from '../accounts/schema'
import { type ApiKey, apiKeys } from './schema'

/** The key or session token of a request, hashed. */
export interface Credential {
  /** SHA-256 of the key or of the session token, hex; '' for an anonymous request. */
  hash: string
  isSession: boolean
  /** The key is ROOKERY_ADMIN_KEY, which works without a row in `api_keys`. */
  isAdminKey: boolean
}

/** The rows of `viewerCte`, to join in a query that needs the viewer. */
export const viewer = alias(accounts, 'viewer')
const viewerKey = alias(apiKeys, 'viewer')

const viewerFields = {
  id: viewer.id,
  name: viewer.name,
  kind: viewer.kind,
  role: viewer.role,
  displayName: viewer.displayName,
  /** Null for ROOKERY_ADMIN_KEY. */
  keyId: sql<string | null>`${viewer}.key_id`,
  scopes: viewerKey.scopes,
  lastUsedAt: viewerKey.lastUsedAt,
}

/** The account of a request, and the key it was read from. */
export type Viewer = RowOf<typeof viewerFields>

/** Values that `viewerCte` binds. */
export interface ViewerValues {
  hash: string
  now: number
  isSession: boolean
  isAdminKey: boolean
}

/** The values of a credential; an anonymous request has no viewer. */
export const viewerValues = (credential: Credential | null, now: number): ViewerValues => ({
  hash: credential?.hash ?? '',
  now,
  isSession: credential?.isSession ?? false,
  isAdminKey: credential?.isAdminKey ?? false,
})

const k = alias(apiKeys, 'k')
const a = alias(accounts, 'a')

/**
 * `WITH viewer AS (...)`: the account of a credential, or no row. A query reads `FROM ${viewer}`, so that
 * a page needs no extra round trip for its viewer.
 */
export const viewerCte = (v: Readonly<Record<keyof ViewerValues, SQLWrapper>>): SQL => sql`
  WITH viewer AS (
    SELECT ${a.id}, ${a.name}, ${a.kind}, ${a.role}, ${a.displayName}, ${k.id} AS key_id, ${k.scopes},
           ${k.lastUsedAt}
    FROM ${apiKeys} ${k} JOIN ${accounts} ${a} ON ${a.id} = ${k.accountId}
    WHERE ${k.hash} = ${v.hash} AND (${k.expiresAt} IS NULL OR ${k.expiresAt} > ${v.now})
      AND ${k.kind} IN ('key', 'service', 'session') AND (${k.kind} = 'session') = ${v.isSession}
    UNION ALL
    SELECT ${a.id}, ${a.name}, ${a.kind}, 'admin', ${a.displayName}, NULL, '["read","write"]', NULL
    FROM ${accounts} ${a} WHERE ${v.isAdminKey} = 1 AND ${a.id} = ${sql.raw(`'${adminAccountId}'`)}
  )`

const selectViewerByValues = prepare((v: Params<ViewerValues>) =>
  oneSql(viewerFields, sql`FROM ${viewer}`, viewerCte(v)),
)

/** Selects the account of a credential; undefined when the credential is not valid. */
export const selectViewer = (credential: Credential, now: number): Statement<Viewer | undefined> =>
  selectViewerByValues(viewerValues(credential, now))

export const insertKey = (key: typeof apiKeys.$inferInsert): Statement<void> =>
  write(orm.insert(apiKeys).values(key))

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

export const touchKey = (keyId: string, now: number): Statement<void> =>
  write(orm.update(apiKeys).set({ lastUsedAt: now }).where(eq(apiKeys.id, keyId)))

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
 * Creates a session for the account of an unexpired key or sign-in link with this hash; otherwise
 * nothing. The session has the scopes of the key or link. It expires with its key, but not with a link.
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
