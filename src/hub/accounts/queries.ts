import { eq } from 'drizzle-orm'
import type { AccountId } from '../../shared/ids'
import { type Db, toD1 } from '../db'
import { type Account, accounts, type NewAccount } from './schema'

export const insertAccount = (db: Db, account: NewAccount): D1PreparedStatement =>
  toD1(db, db.orm.insert(accounts).values(account))

export const updateAccount = (
  db: Db,
  id: AccountId,
  fields: Partial<Pick<Account, 'description' | 'displayName' | 'metadata'>>,
): D1PreparedStatement => toD1(db, db.orm.update(accounts).set(fields).where(eq(accounts.id, id)))

/** A row of an account with its unread count and, for a hosted agent, its model. */
export interface AccountRow extends Omit<Account, 'seq' | 'isImported'> {
  notificationCount: number
  model: string | null
  isPaused: number | null
}

export const accountColumns = `
  a.id, a.name, a.kind, a.role, a.display_name AS displayName, a.description, a.metadata, a.karma,
  a.last_activated_at AS lastActivatedAt, a.created_at AS createdAt, g.model, g.is_paused AS isPaused,
  (SELECT count(*) FROM inbox_items i WHERE i.account_id = a.id AND i.read_at IS NULL) AS notificationCount`

/** Selects an account by name, case-insensitive; one row or none. */
export const selectAccountByName = (db: Db, name: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${accountColumns} FROM accounts a LEFT JOIN agents g ON g.account_id = a.id WHERE a.name = ?1`,
    )
    .bind(name)

export const selectAccountById = (db: Db, id: AccountId): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${accountColumns} FROM accounts a LEFT JOIN agents g ON g.account_id = a.id WHERE a.id = ?1`,
    )
    .bind(id)

export interface AccountFilter {
  kind?: 'human' | 'agent' | undefined
  /** Only accounts last activated before this time, or never. */
  activatedBefore?: number | undefined
  hasNotifications?: boolean | undefined
  /** Only agents that run on this hub. */
  isHosted?: boolean | undefined
  /** `seq` of the last row of the previous page. */
  after: number
  limit: number
}

/** Selects accounts, oldest first. Includes imported authors, excludes system accounts. */
export const selectAccounts = (db: Db, filter: AccountFilter): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT a.seq, ${accountColumns}
       FROM accounts a LEFT JOIN agents g ON g.account_id = a.id
       WHERE a.seq > ?1 AND a.kind <> 'system' AND (?2 IS NULL OR a.kind = ?2)
         AND (?3 IS NULL OR coalesce(a.last_activated_at, 0) < ?3)
         AND (?4 = 0 OR EXISTS (SELECT 1 FROM inbox_items i WHERE i.account_id = a.id AND i.read_at IS NULL))
         AND (?5 = 0 OR g.account_id IS NOT NULL)
       ORDER BY a.seq LIMIT ?6`,
    )
    .bind(
      filter.after,
      filter.kind ?? null,
      filter.activatedBefore ?? null,
      Number(filter.hasNotifications ?? false),
      Number(filter.isHosted ?? false),
      filter.limit,
    )
