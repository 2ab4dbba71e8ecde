import { type Answers, batch, repeatAfterFault, run, type Statements } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { Statement } from '../../shared/db/statement'
import { AppError } from '../../shared/errors'
import { sha256 } from '../../shared/sha256'
import { toAccessError } from '../contract/access'
import { type ConstraintErrors, findFailedConstraint, toConstraintError } from './constraint-errors'
import { insertStoredResponse, selectStoredResponse } from './idempotency-queries'

const hint = 'Use a new Idempotency-Key for a new request.'

/** Errors of idempotent requests, as users read them. */
const idempotencyErrors = {
  secretNotStored: () =>
    new AppError(
      'IDEMPOTENCY_CONFLICT',
      'The request with this Idempotency-Key already succeeded. Its response contained a secret, which is not stored.',
      { hint },
    ),
  keyReused: () =>
    new AppError(
      'IDEMPOTENCY_CONFLICT',
      'This Idempotency-Key was already used for a different request.',
      { hint },
    ),
}

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
export interface IdempotentResult<Answer, Batch extends Statements = Statements> {
  answer: Answer
  /** Whether this is the stored response of an earlier request, so that nothing was written. */
  isDuplicate: boolean
  /** Answers of the statements; null for a stored response. */
  results: Answers<Batch> | null
}

interface Work<Answer, Batch extends Statements> {
  now: number
  /** The response. Known before the writes, because ids and times are not generated in SQL. */
  answer: Answer
  statements: Batch
  /** Whether the response contains a secret. It is not stored then, and a retry is refused. */
  isSecret?: boolean
  /** Constraints that the statements can fail; the failure of any other is an unexpected error. */
  constraints?: ConstraintErrors
}

/** Name of the statement that stores the response; no action names one of its own like this. */
const storedName = '#stored'

/**
 * Runs the statements in one batch, once for each key of an account. The response is stored in the same
 * batch, so that a retry after a lost response finds either both or nothing. With a key the batch is therefore
 * sent again after a short fault of the database.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input, or when the response was a secret;
 * the error of a failed constraint
 */
export async function runOnce<Answer, Batch extends Statements>(
  db: Db,
  request: IdempotentRequest,
  work: Work<Answer, Batch>,
): Promise<IdempotentResult<Answer, Batch>> {
  const { answer } = work
  try {
    const stored = await storeResponse(request, work)
    const send = () => batch(db, { [storedName]: stored, ...work.statements })
    const results = await (stored ? repeatAfterFault(send) : send())
    return { answer, isDuplicate: false, results }
  } catch (error) {
    const isUsed = findFailedConstraint(error)?.startsWith('idempotency_keys.')
    const stored = isUsed ? await findStoredResult<Answer>(db, request) : null
    if (!stored)
      throw toConstraintError(error, work.constraints ?? {}) ?? toAccessError(error) ?? error
    return stored
  }
}

/** Returns the write of the response; null for a request without a key. */
async function storeResponse(
  request: IdempotentRequest,
  { now, answer, isSecret }: Omit<Work<unknown, Statements>, 'statements'>,
): Promise<Statement<void> | null> {
  const { accountId, key } = request
  if (key === null) return null
  return insertStoredResponse({
    accountId,
    key,
    requestHash: await hashRequest(request),
    status: 200,
    answer: isSecret ? null : JSON.stringify(answer),
    createdAt: now,
  })
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
  act: () => Promise<Answer>,
): Promise<IdempotentResult<Answer>> {
  const stored = await findStoredResult<Answer>(db, request)
  if (stored) return stored
  const answer = await act()
  if (request.key === null) return { answer, isDuplicate: false, results: {} }
  return runOnce(db, request, { now, answer, statements: {} })
}

/**
 * Runs `write`. When it is refused, returns the stored response of the key, if there is one: a retry can
 * be refused because of the first request itself, or because of something that happened since.
 *
 * @throws IDEMPOTENCY_CONFLICT for the same key with another input
 */
export async function runOrReturnStored<Answer, Batch extends Statements>(
  db: Db,
  request: IdempotentRequest,
  write: () => Promise<IdempotentResult<Answer, Batch>>,
): Promise<IdempotentResult<Answer, Batch>> {
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
): Promise<IdempotentResult<Answer, never> | null> {
  const { accountId, key } = request
  const stored = key === null ? undefined : await run(db, selectStoredResponse(accountId, key))
  if (!stored) return null
  const isSame = stored.requestHash === (await hashRequest(request))
  if (isSame && stored.answer !== null) {
    return { answer: JSON.parse(stored.answer), isDuplicate: true, results: null }
  }
  throw isSame ? idempotencyErrors.secretNotStored() : idempotencyErrors.keyReused()
}

const hashRequest = ({ action, input }: IdempotentRequest): Promise<string> =>
  sha256(JSON.stringify([action, input]))
