import { type Answers, batch, run, type Statements } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { AppError } from '../../shared/errors'
import { findFailedConstraint, toConstraintError } from '../constraint-errors'
import { banErrors, writingConstraints } from './errors'
import { guardWriting, selectActiveBan, type Writing } from './queries'

const banNames = new Set(['writing_banned', 'writing_muted'])

/**
 * Runs a write that `guardWriting` is part of. When a ban or a mute refuses it, the error has its reason
 * and its end.
 *
 * @throws BANNED or MUTED with its reason, and what the write throws
 */
export async function explainBan<Result>(
  db: Db,
  writing: Writing,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    const name = error instanceof AppError ? findFailedConstraint(error.cause) : null
    if (name === null || !banNames.has(name)) throw error
    const ban = await run(db, selectActiveBan(writing))
    throw ban ? banErrors.active(ban, writing.accountId, error) : error
  }
}

/**
 * Sends statements in one batch with their guard.
 *
 * @throws BANNED or MUTED with the reason when the account must not write this
 */
export const writeGuarded = <Batch extends Statements>(
  db: Db,
  writing: Writing,
  statements: Batch,
): Promise<Answers<Batch>> =>
  explainBan(db, writing, async () => {
    try {
      return await batch(db, { '#guard': guardWriting(writing), ...statements })
    } catch (error) {
      throw toConstraintError(error, writingConstraints) ?? error
    }
  })
