import { and, eq, ne, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
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
import { isDisabledSql } from '../bans/ban-sql'
import type { SecretRow } from '../keys/queries'
import { accounts } from '../schema/accounts'
import { type ApiKey, apiKeys } from '../schema/keys'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'

/** What a session dies with. All null: with nothing but itself. */
export type Opener = Pick<ApiKey, 'openedBy' | 'passkeyId' | 'identityId' | 'adminKeyHash'>

/** The opener of a session that ends with nothing but itself. */
export const noOpener: Opener = {
  openedBy: null,
  passkeyId: null,
  identityId: null,
  adminKeyHash: null,
}

const s = alias(apiKeys, 's')
const o = alias(apiKeys, 'o')

/** What a session that `s` opens dies with: `s` itself if it is a key, otherwise what opened `s`. */
const openedBySql = sql`iif(${s.kind} IN ('key', 'service'), ${s.id}, ${s.openedBy})`

const isValidSql = (now: number, adminKeyHash: string) => sql`
  (${s.expiresAt} IS NULL OR ${s.expiresAt} > ${now})
  AND (${s.adminKeyHash} IS NULL OR ${s.adminKeyHash} = ${adminKeyHash})`

/**
 * Creates a session for the account of a valid key or sign-in link with this hash; otherwise nothing. The
 * session has the scopes of the key or link, and expires with the key that opened it or created the link.
 */
export const insertSession = (
  session: SecretRow & Pick<ApiKey, 'label'>,
  source: { hash: string; kind: 'key' | 'link' },
  adminKeyHash: string,
): Statement<boolean> => {
  const { id, hash, label, createdAt, expiresAt } = session
  const keyExpiry = sql`(SELECT ${o.expiresAt} FROM ${apiKeys} ${o} WHERE ${o.id} = ${openedBySql})`
  return writeChanges(
    insertSelect(
      apiKeys,
      {
        ...{
          id,
          accountId: s.accountId,
          hash,
          kind: 'session',
          label,
          scopes: s.scopes,
          createdAt,
        },
        expiresAt: sql`min(coalesce(${keyExpiry}, ${expiresAt}), ${expiresAt})`,
        openedBy: openedBySql,
        passkeyId: s.passkeyId,
        identityId: s.identityId,
        adminKeyHash: s.adminKeyHash,
      },
      sql`FROM ${apiKeys} ${s} WHERE ${s.hash} = ${source.hash} AND ${s.kind} = ${source.kind}
      AND ${isValidSql(createdAt, adminKeyHash)} AND NOT ${isDisabledSql(s.accountId)}`,
    ),
  )
}

/** Inserts a session of an account with all scopes. */
export const insertOwnSession = (
  session: SecretRow & Pick<ApiKey, 'label' | 'accountId'> & Opener,
): Statement<void> => write(orm.insert(apiKeys).values({ ...session, kind: 'session' }))

/**
 * Creates a sign-in link for an account, with the scopes of the key or session that asks. What that key or
 * session dies with ends the link's session too. Nothing when it is not valid any more.
 */
export const insertLinkWithin = (
  link: SecretRow & Pick<ApiKey, 'accountId'>,
  askedBy: string,
): Statement<boolean> => {
  const { id, accountId, hash, createdAt, expiresAt } = link
  return writeChanges(
    insertSelect(
      apiKeys,
      {
        ...{ id, accountId, hash, kind: 'link', scopes: s.scopes, createdAt, expiresAt },
        openedBy: openedBySql,
        passkeyId: s.passkeyId,
        identityId: s.identityId,
        adminKeyHash: s.adminKeyHash,
      },
      sql`FROM ${apiKeys} ${s} WHERE ${s.id} = ${askedBy}
        AND (${s.expiresAt} IS NULL OR ${s.expiresAt} > ${createdAt})`,
    ),
  )
}

/** Selects for whom a session was opened, and until when. */
export const selectOpened = (
  id: string,
): Statement<{ accountId: AccountId; expiresAt: number | null } | undefined> =>
  one(
    orm
      .select({ accountId: apiKeys.accountId, expiresAt: apiKeys.expiresAt })
      .from(apiKeys)
      .where(eq(apiKeys.id, id)),
  )

/** Selects whom a valid sign-in link signs in. */
export const selectLink = (
  hash: string,
  now: number,
  adminKeyHash: string,
): Statement<{ name: string } | undefined> =>
  oneSql(
    { name: accounts.name },
    sql`FROM ${apiKeys} ${s} JOIN ${accounts} ON ${accounts.id} = ${s.accountId}
      WHERE ${s.hash} = ${hash} AND ${s.kind} = 'link' AND ${isValidSql(now, adminKeyHash)}`,
  )

/** Deletes a session or a link by the hash of its secret. */
export const deleteSecret = (hash: string, kind: 'session' | 'link'): Statement<void> =>
  write(orm.delete(apiKeys).where(and(eq(apiKeys.hash, hash), eq(apiKeys.kind, kind))))

/** A session, as its account sees it. */
export type SessionRow = Pick<ApiKey, 'id' | 'label' | 'createdAt' | 'lastUsedAt'> & {
  isCurrent: boolean
}

const selectSessionsOfViewer = prepare((v: Params<ViewerValues>) =>
  manySql(
    {
      id: s.id,
      label: s.label,
      createdAt: s.createdAt,
      lastUsedAt: s.lastUsedAt,
      /** Whether it is the session of the request. */
      isCurrent: flag(sql`${s.id} IS ${viewer}.key_id`),
    },
    sql`FROM ${viewer} JOIN ${apiKeys} ${s} ON ${s.accountId} = ${viewer.id} AND ${s.kind} = 'session'
      WHERE ${s.expiresAt} > ${v.now}
        AND (${s.adminKeyHash} IS NULL OR ${s.adminKeyHash} = ${v.adminKeyHash})
      ORDER BY ${s.createdAt} DESC, ${s.id} DESC LIMIT 200`,
    viewerCte(v),
  ),
)

/** Selects the sessions of the viewer's account that have not ended, the last opened first. */
export const selectOwnSessions = (credential: Credential, now: number): Statement<SessionRow[]> =>
  selectSessionsOfViewer(viewerValues(credential, now))

/** Deletes a session of an account; answers whether the account had it. */
export const deleteSession = (accountId: AccountId, id: string): Statement<boolean> =>
  writeChanges(
    orm
      .delete(apiKeys)
      .where(
        and(eq(apiKeys.id, id), eq(apiKeys.accountId, accountId), eq(apiKeys.kind, 'session')),
      ),
  )

/** Deletes all sessions of an account but one, and the links that could open another. */
export const deleteOtherSessions = (accountId: AccountId, keptId: string): Statement<void> =>
  write(
    orm
      .delete(apiKeys)
      .where(
        and(
          eq(apiKeys.accountId, accountId),
          sql`${apiKeys.kind} IN ('session', 'link')`,
          ne(apiKeys.id, keptId),
        ),
      ),
  )

/** Selects whether a key or session has both scopes, and came from nothing that expires by itself. */
export const selectIsUnlimited = (id: string): Statement<boolean | undefined> =>
  mapStatement(
    oneSql(
      {
        scopes: s.scopes,
        expiresAt: sql<number | null>`iif(${s.kind} = 'session', ${o.expiresAt}, ${s.expiresAt})`,
      },
      sql`FROM ${apiKeys} ${s} LEFT JOIN ${apiKeys} ${o} ON ${o.id} = ${s.openedBy}
        WHERE ${s.id} = ${id}`,
    ),
    (row) => row && row.scopes.length === 2 && row.expiresAt === null,
  )
