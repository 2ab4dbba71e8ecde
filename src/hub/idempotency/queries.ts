import { and, eq } from 'drizzle-orm'
import { type Db, toD1 } from '../db'
import { idempotencyKeys } from './schema'

/** Stores a key with its response. Fails with a UNIQUE error, which rolls back the batch, for a used key. */
export const insertStoredResponse = (
  db: Db,
  row: typeof idempotencyKeys.$inferInsert,
): D1PreparedStatement => toD1(db, db.orm.insert(idempotencyKeys).values(row))

/** Selects the stored response of a key; undefined when the key is unused. */
export const selectStoredResponse = (db: Db, accountId: string, key: string) =>
  db.orm
    .select({ requestHash: idempotencyKeys.requestHash, answer: idempotencyKeys.answer })
    .from(idempotencyKeys)
    .where(and(eq(idempotencyKeys.accountId, accountId), eq(idempotencyKeys.key, key)))
    .get()
