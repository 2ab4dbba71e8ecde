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
  const requestHash = await sha256(JSON.stringify([once.action, once.input]))
  const first = insertAnswer(db, {
    accountId,
    key,
    requestHash,
    status: 200,
    answer: work.isSecret ? null : JSON.stringify(work.answer),
    createdAt: work.now,
  })
  try {
    const [, ...results] = await db.d1.batch<Record<string, unknown>>([first, ...work.statements])
    return { answer: work.answer, isReplay: false, results }
  } catch (error) {
    if (!String(error).includes('idempotency_keys')) throw error
    return {
      answer: await replay<Answer>(db, accountId, key, requestHash),
      isReplay: true,
      results: [],
    }
  }
}

/**
 * The first answer of a key that was used before, for work that is not a batch; null when it was not.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input
 */
export async function findReplay<Answer>(db: Db, once: OnceKey): Promise<Answer | null> {
  const { accountId, key } = once
  if (key === null || !(await selectAnswer(db, accountId, key))) return null
  return replay<Answer>(db, accountId, key, await sha256(JSON.stringify([once.action, once.input])))
}

async function replay<Answer>(
  db: Db,
  accountId: string,
  key: string,
  requestHash: string,
): Promise<Answer> {
  const stored = await selectAnswer(db, accountId, key)
  if (stored?.requestHash === requestHash && stored.answer !== null)
    return JSON.parse(stored.answer)
  const isSame = stored?.requestHash === requestHash
  throw new AppError(
    'IDEMPOTENCY_CONFLICT',
    isSame
      ? 'This was done before, and its answer held a secret that is not kept.'
      : 'This Idempotency-Key was used for another request.',
    { hint: 'Use a new Idempotency-Key for a new request.' },
  )
}
