import { and, eq } from 'drizzle-orm'
import { one, orm, type Statement, write } from '../../shared/db/statement'
import { idempotencyKeys } from '../schema/system'

/** Stores a key with its response. Fails with a UNIQUE error, which rolls back the batch, for a used key. */
export const insertStoredResponse = (row: typeof idempotencyKeys.$inferInsert): Statement<void> =>
  write(orm.insert(idempotencyKeys).values(row))

/** Selects the stored response of a key; undefined when the key is unused. */
export const selectStoredResponse = (
  accountId: string,
  key: string,
): Statement<{ requestHash: string; answer: string | null } | undefined> =>
  one(
    orm
      .select({ requestHash: idempotencyKeys.requestHash, answer: idempotencyKeys.answer })
      .from(idempotencyKeys)
      .where(and(eq(idempotencyKeys.accountId, accountId), eq(idempotencyKeys.key, key))),
  )
