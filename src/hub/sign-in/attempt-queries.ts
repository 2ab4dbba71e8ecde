import { and, eq, gt, lte } from 'drizzle-orm'
import { one, orm, type Statement, write } from '../../shared/db/statement'
import { type SignInAttempt, signInAttempts } from '../schema/keys'

export const insertAttempt = (attempt: typeof signInAttempts.$inferInsert): Statement<void> =>
  write(orm.insert(signInAttempts).values(attempt))

/** Deletes attempts that nobody answered. */
export const deleteExpiredAttempts = (now: number): Statement<void> =>
  write(orm.delete(signInAttempts).where(lte(signInAttempts.expiresAt, now)))

/** Deletes an attempt and returns it, so that its answer counts once; undefined when it has expired. */
export const takeAttempt = (
  id: string,
  kind: SignInAttempt['kind'],
  now: number,
): Statement<SignInAttempt | undefined> =>
  one(
    orm
      .delete(signInAttempts)
      .where(
        and(
          eq(signInAttempts.id, id),
          eq(signInAttempts.kind, kind),
          gt(signInAttempts.expiresAt, now),
        ),
      )
      .returning(),
  )
