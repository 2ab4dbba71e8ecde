import { AppError } from '../../errors'
import type { Db } from '../db'
import { sha256 } from '../sha256'
import { insertAnswer, selectAnswer } from './queries'

export interface OnceKey {
  /** '' for callers without an account. */
  accountId: string
  /** Null: the caller did not ask for idempotency. */
  key: string | null
  /** What is done, e.g. `posts.create`, and with which input: the same key with another is refused. */
  action: string
  input: unknown
}

export interface Done<Answer> {
  answer: Answer
  /** The first answer again: nothing was done this time. */
  isReplay: boolean
  /** Results of the statements; empty for a replay. */
  results: D1Result<Record<string, unknown>>[]
}

interface Work<Answer> {
  now: number
  /** Known before the writes, because ids and times are made here and not in SQL. */
  answer: Answer
  statements: D1PreparedStatement[]
  /** The answer holds a secret: it is not stored, and a repeat is refused. */
  isSecret?: boolean
}

/**
 * Runs the statements in one batch, once for each key of an account (H6). The answer is stored in
 * the same batch, so that a repeat after a lost answer finds either both or nothing.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input, or when the answer was secret
 */
export async function runOnce<Answer>(
  db: Db,
  once: OnceKey,
  work: Work<Answer>,
): Promise<Done<Answer>> {
  const { accountId, key } = once
  if (key === null) {
    return { answer: work.answer, isReplay: false, results: await db.d1.batch(work.statements) }
  }
  const first = insertAnswer(db, {
    accountId,
    key,
    requestHash: await hashRequest(once),
    status: 200,
    answer: work.isSecret ? null : JSON.stringify(work.answer),
    createdAt: work.now,
  })
  try {
    const [, ...results] = await db.d1.batch<Record<string, unknown>>([first, ...work.statements])
    return { answer: work.answer, isReplay: false, results }
  } catch (error) {
    const before = String(error).includes('idempotency_keys')
      ? await findReplay<Answer>(db, once)
      : null
    if (!before) throw error
    return before
  }
}

/**
 * The same for work that is not a batch: its answer is kept once it is done. Who is cut off in between
 * does it again, so that must be harmless.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input
 */
export async function actOnce<Answer>(
  db: Db,
  once: OnceKey,
  now: number,
  act: () => Promise<Answer>,
): Promise<Done<Answer>> {
  const before = await findReplay<Answer>(db, once)
  if (before) return before
  const answer = await act()
  if (once.key === null) return { answer, isReplay: false, results: [] }
  return runOnce(db, once, { now, answer, statements: [] })
}

/**
 * What `write` gives; when it is refused, the first answer of the key, if there is one. What refuses a
 * repeat may have come after the first time, or be what the first time did.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input
 */
export async function replayIfRefused<Answer>(
  db: Db,
  once: OnceKey,
  write: () => Promise<Done<Answer>>,
): Promise<Done<Answer>> {
  try {
    return await write()
  } catch (error) {
    const before = error instanceof AppError ? await findReplay<Answer>(db, once) : null
    if (!before) throw error
    return before
  }
}

/**
 * The first answer of a key that was used before; null when it was not.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input
 */
export async function findReplay<Answer>(db: Db, once: OnceKey): Promise<Done<Answer> | null> {
  const { accountId, key } = once
  const stored = key === null ? undefined : await selectAnswer(db, accountId, key)
  if (!stored) return null
  const isSame = stored.requestHash === (await hashRequest(once))
  if (isSame && stored.answer !== null) {
    return { answer: JSON.parse(stored.answer), isReplay: true, results: [] }
  }
  throw new AppError(
    'IDEMPOTENCY_CONFLICT',
    isSame
      ? 'This was done before, and its answer held a secret that is not kept.'
      : 'This Idempotency-Key was used for another request.',
    { hint: 'Use a new Idempotency-Key for a new request.' },
  )
}

const hashRequest = ({ action, input }: OnceKey): Promise<string> =>
  sha256(JSON.stringify([action, input]))
