import { and, eq } from 'drizzle-orm'
import type { AccountId } from '../../shared/ids'
import { adminAccountId } from '../accounts/schema'
import type { AccountKind } from '../contract/hub'
import { type Db, toD1 } from '../db'
import { type ApiKey, apiKeys } from './schema'

/** The key or session token of a request, hashed. */
export interface Credential {
  /** SHA-256 of the key or of the session token, hex; '' for an anonymous request. */
  hash: string
  isSession: boolean
  /** The key is ROOKERY_ADMIN_KEY, which works without a row in `api_keys`. */
  isAdminKey: boolean
}

export interface Viewer {
  id: AccountId
  name: string
  kind: AccountKind
  role: 'member' | 'admin'
  displayName: string | null
  /** Null for ROOKERY_ADMIN_KEY. */
  keyId: string | null
  scopes: string[]
  lastUsedAt: number | null
}

/**
 * Selects the account of a credential. Parameters: `?1` hash, `?2` now, `?3` is a session, `?4` is the
 * admin key (bind them with `viewerParams`). Can be used alone, or as `WITH viewer AS (...)` of a query
 * whose own parameters start at `?5`, so that a page needs no extra round trip for its viewer.
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

/** Returns the viewer from the result of `viewerStatement`; null when the credential is not valid. */
export function readViewer(result: D1Result | undefined): Viewer | null {
  const row = result?.results[0] as (Omit<Viewer, 'scopes'> & { scopes: string }) | undefined
  return row ? { ...row, scopes: JSON.parse(row.scopes) } : null
}

export const insertKey = (db: Db, key: typeof apiKeys.$inferInsert): D1PreparedStatement =>
  toD1(db, db.orm.insert(apiKeys).values(key))

/** Deletes a key of an account; `meta.changes` is 0 when the account has no such key. */
export const deleteKey = (db: Db, accountId: AccountId, keyId: string): D1PreparedStatement =>
  toD1(
    db,
    db.orm.delete(apiKeys).where(and(eq(apiKeys.id, keyId), eq(apiKeys.accountId, accountId))),
  )

export const deleteKeyByHash = (db: Db, hash: string, kind: ApiKey['kind']): D1PreparedStatement =>
  toD1(db, db.orm.delete(apiKeys).where(and(eq(apiKeys.hash, hash), eq(apiKeys.kind, kind))))

/** Expires a rotated key and the sessions opened with it at `at`, unless they expire earlier. */
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

/** Selects a key of an account by id, expired or not. */
export const selectKey = (db: Db, accountId: AccountId, keyId: string): D1PreparedStatement =>
  db.d1
    .prepare(`SELECT id FROM api_keys WHERE id = ?1 AND account_id = ?2 AND kind = 'key'`)
    .bind(keyId, accountId)

/** Row of a new secret, without its account and kind. */
export type SecretRow = Pick<ApiKey, 'id' | 'hash' | 'createdAt'> & { expiresAt: number }

/**
 * Creates a session for the account of an unexpired key or sign-in link with this hash; otherwise
 * nothing. The session has the scopes of the key or link. It expires with its key, but not with a link.
 */
export const insertSession = (
  db: Db,
  session: SecretRow,
  source: { hash: string; kind: 'key' | 'link' },
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
    .bind(session.id, session.hash, session.createdAt, session.expiresAt, source.hash, source.kind)

export const selectKeys = (db: Db, accountId: AccountId, now: number) =>
  db.d1
    .prepare(
      `SELECT id, label, kind, scopes, created_at AS createdAt, expires_at AS expiresAt, last_used_at AS lastUsedAt
       FROM api_keys WHERE account_id = ?1 AND kind IN ('key', 'service') AND (expires_at IS NULL OR expires_at > ?2)
       ORDER BY created_at`,
    )
    .bind(accountId, now)
