import { AppError } from '../../shared/errors'
import type { Db } from '../db'
import { sha256 } from '../sha256'
import { idempotencyErrors } from './errors'
import { insertStoredResponse, selectStoredResponse } from './queries'

/** Identifies a request that must run at most once. */
export interface IdempotentRequest {
  /** '' for callers without an account. */
  accountId: string
  /** The Idempotency-Key; null when the caller sent none. */
  key: string | null
  /** Name such as `posts.create`. The same key with another action or input is refused. */
  action: string
  input: unknown
}

/** Result of an idempotent write. */
export interface IdempotentResult<Answer> {
  answer: Answer
  /** Whether this is the stored response of an earlier request, so that nothing was written. */
  isDuplicate: boolean
  /** Results of the statements; empty for a stored response. */
  results: D1Result<Record<string, unknown>>[]
}

interface Work<Answer> {
  now: number
  /** The response. Known before the writes, because ids and times are not generated in SQL. */
  answer: Answer
  statements: D1PreparedStatement[]
  /** Whether the response contains a secret. It is not stored then, and a retry is refused. */
  isSecret?: boolean
}

/**
 * Runs the statements in one batch, once for each key of an account. The response is stored in the same
 * batch, so that a retry after a lost response finds either both or nothing.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input, or when the response was a secret
 */
export async function runOnce<Answer>(
  db: Db,
  request: IdempotentRequest,
  work: Work<Answer>,
): Promise<IdempotentResult<Answer>> {
  const { accountId, key } = request
  if (key === null) {
    return { answer: work.answer, isDuplicate: false, results: await db.d1.batch(work.statements) }
  }
  const first = insertStoredResponse(db, {
    accountId,
    key,
    requestHash: await hashRequest(request),
    status: 200,
    answer: work.isSecret ? null : JSON.stringify(work.answer),
    createdAt: work.now,
  })
  try {
    const [, ...results] = await db.d1.batch<Record<string, unknown>>([first, ...work.statements])
    return { answer: work.answer, isDuplicate: false, results }
  } catch (error) {
    const stored = String(error).includes('idempotency_keys')
      ? await findStoredResult<Answer>(db, request)
      : null
    if (!stored) throw error
    return stored
  }
}

/**
 * Runs an action that is not a batch once for each key. The response is stored after the action, so an
 * interruption in between makes a retry run the action again: the action itself has to be idempotent.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input
 */
export async function runActionOnce<Answer>(
  db: Db,
  request: IdempotentRequest,
  now: number,
  run: () => Promise<Answer>,
): Promise<IdempotentResult<Answer>> {
  const stored = await findStoredResult<Answer>(db, request)
  if (stored) return stored
  const answer = await run()
  if (request.key === null) return { answer, isDuplicate: false, results: [] }
  return runOnce(db, request, { now, answer, statements: [] })
}

/**
 * Runs `write`. When it is refused, returns the stored response of the key, if there is one: a retry can
 * be refused because of the first request itself, or because of something that happened since.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input
 */
export async function runOrReturnStored<Answer>(
  db: Db,
  request: IdempotentRequest,
  write: () => Promise<IdempotentResult<Answer>>,
): Promise<IdempotentResult<Answer>> {
  try {
    return await write()
  } catch (error) {
    const stored = error instanceof AppError ? await findStoredResult<Answer>(db, request) : null
    if (!stored) throw error
    return stored
  }
}

/**
 * Returns the stored response of a used key; null for an unused key.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input
 */
export async function findStoredResult<Answer>(
  db: Db,
  request: IdempotentRequest,
): Promise<IdempotentResult<Answer> | null> {
  const { accountId, key } = request
  const stored = key === null ? undefined : await selectStoredResponse(db, accountId, key)
  if (!stored) return null
  const isSame = stored.requestHash === (await hashRequest(request))
  if (isSame && stored.answer !== null) {
    return { answer: JSON.parse(stored.answer), isDuplicate: true, results: [] }
  }
  throw isSame ? idempotencyErrors.secretNotStored() : idempotencyErrors.keyReused()
}

const hashRequest = ({ action, input }: IdempotentRequest): Promise<string> =>
  sha256(JSON.stringify([action, input]))
