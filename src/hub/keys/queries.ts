import { and, eq } from 'drizzle-orm'
import type { AccountId } from '../../ids'
import { adminAccountId } from '../accounts/schema'
import type { AccountKind } from '../contract'
import { type Db, toD1 } from '../db'
import { type ApiKey, apiKeys } from './schema'

/** What a caller showed, hashed. */
export interface Credential {
  /** SHA-256 of the key or of the session token, hex; '' when the caller showed nothing. */
  hash: string
  isSession: boolean
  /** The key is ROOKERY_ADMIN_KEY: it works on a fresh database, without a row of its own. */
  isAdminKey: boolean
}

export interface Viewer {
  id: AccountId
  name: string
  kind: AccountKind
  role: 'member' | 'admin'
  displayName: string | null
  /** Null for the admin's key of the environment. */
  keyId: string | null
  scopes: string[]
  lastUsedAt: number | null
}

/**
 * The account behind a credential. `?1` hash, `?2` now, `?3` is a session, `?4` is the admin's key
 * (bind them with `viewerParams`). Stands alone or as `WITH viewer AS (...)` before a query that
 * takes further parameters from `?5`, so that a page needs no round trip for its viewer (H7).
 */
export const viewerSql = `
  SELECT a.id, a.name, a.kind, a.role, a.display_name AS displayName, k.id AS keyId, k.scopes,
         k.last_used_at AS lastUsedAt
  FROM api_keys k JOIN accounts a ON a.id = k.account_id
  WHERE k.hash = ?1 AND (k.expires_at IS NULL OR k.expires_at > ?2)
    AND k.kind IN ('key', 'service', 'session') AND (k.kind = 'session') = ?3
  UNION ALL
  SELECT id, name, kind, 'admin', display_name, NULL, '["read","write"]', NULL
  FROM accounts WHERE ?4 = 1 AND id = '${adminAccountId}'`

export const viewerParams = (
  credential: Credential,
  now: number,
): [string, number, number, number] => [
  credential.hash,
  now,
  Number(credential.isSession),
  Number(credential.isAdminKey),
]

export const viewerStatement = (db: Db, credential: Credential, now: number): D1PreparedStatement =>
  db.d1.prepare(viewerSql).bind(...viewerParams(credential, now))

/** The viewer that `viewerStatement` found; null when nobody holds that credential. */
export function readViewer(result: D1Result | undefined): Viewer | null {
  const row = result?.results[0] as (Omit<Viewer, 'scopes'> & { scopes: string }) | undefined
  return row ? { ...row, scopes: JSON.parse(row.scopes) } : null
}

export const insertKey = (db: Db, key: typeof apiKeys.$inferInsert): D1PreparedStatement =>
  toD1(db, db.orm.insert(apiKeys).values(key))

/** Deletes a key of an account; the result says whether there was one. */
export const deleteKey = (db: Db, accountId: AccountId, keyId: string): D1PreparedStatement =>
  toD1(
    db,
    db.orm.delete(apiKeys).where(and(eq(apiKeys.id, keyId), eq(apiKeys.accountId, accountId))),
  )

export const deleteByHash = (db: Db, hash: string, kind: ApiKey['kind']): D1PreparedStatement =>
  toD1(db, db.orm.delete(apiKeys).where(and(eq(apiKeys.hash, hash), eq(apiKeys.kind, kind))))

/** A rotated key and the sessions opened with it work until `at`, or until their own end before it. */
export const expireKey = (
  db: Db,
  accountId: AccountId,
  keyId: string,
  at: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?3), ?3)
       WHERE account_id = ?1 AND ((id = ?2 AND kind = 'key') OR opened_by = ?2)`,
    )
    .bind(accountId, keyId, at)

export const touchKey = (db: Db, keyId: string, now: number): D1PreparedStatement =>
  toD1(db, db.orm.update(apiKeys).set({ lastUsedAt: now }).where(eq(apiKeys.id, keyId)))

/** The account's key of this id, also when it has expired. */
export const selectKey = (db: Db, accountId: AccountId, keyId: string): D1PreparedStatement =>
  db.d1
    .prepare(`SELECT id FROM api_keys WHERE id = ?1 AND account_id = ?2 AND kind = 'key'`)
    .bind(keyId, accountId)

/** The row of a new secret, whoever gets it. */
export type SecretRow = Pick<ApiKey, 'id' | 'hash' | 'createdAt'> & { expiresAt: number }

/**
 * A session of whoever holds the key or the sign-in link with this hash; none when it has expired. It
 * may do what that may do. It ends no later than its key, but a link only opens it.
 */
export const insertSession = (
  db: Db,
  session: SecretRow,
  shown: { hash: string; kind: 'key' | 'link' },
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO api_keys (id, account_id, hash, kind, scopes, created_at, expires_at, opened_by)
       SELECT ?1, account_id, ?2, 'session', scopes, ?3,
              CASE kind WHEN 'key' THEN min(coalesce(expires_at, ?4), ?4) ELSE ?4 END,
              CASE kind WHEN 'key' THEN id END
       FROM api_keys WHERE hash = ?5 AND kind = ?6 AND (expires_at IS NULL OR expires_at > ?3)
       RETURNING account_id AS accountId, expires_at AS expiresAt`,
    )
    .bind(session.id, session.hash, session.createdAt, session.expiresAt, shown.hash, shown.kind)

export const selectKeys = (db: Db, accountId: AccountId, now: number) =>
  db.d1
    .prepare(
      `SELECT id, label, kind, scopes, created_at AS createdAt, expires_at AS expiresAt, last_used_at AS lastUsedAt
       FROM api_keys WHERE account_id = ?1 AND kind IN ('key', 'service') AND (expires_at IS NULL OR expires_at > ?2)
       ORDER BY created_at`,
    )
    .bind(accountId, now)
