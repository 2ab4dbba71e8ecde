import { and, eq } from 'drizzle-orm'
import { type Db, toD1 } from '../db'
import { idempotencyKeys } from './schema'

/** Fails with a UNIQUE error when the key was used before, which rolls its batch back. */
export const insertAnswer = (
  db: Db,
  row: typeof idempotencyKeys.$inferInsert,
): D1PreparedStatement => toD1(db, db.orm.insert(idempotencyKeys).values(row))

export const selectAnswer = (db: Db, accountId: string, key: string) =>
  db.orm
    .select({ requestHash: idempotencyKeys.requestHash, answer: idempotencyKeys.answer })
    .from(idempotencyKeys)
    .where(and(eq(idempotencyKeys.accountId, accountId), eq(idempotencyKeys.key, key)))
    .get()
