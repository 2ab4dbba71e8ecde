import { run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { AppError } from '../../shared/errors'
import type { CommunityId } from '../../shared/ids'
import { toConstraintError } from '../constraint-errors'
import { replyLimitConstraints } from './explain-reply-limit'
import { selectLimits } from './queries'

/**
 * Runs a write that a guard of the reply limits is part of. When a limit refuses it, the error names the limit
 * that holds in the community, which is read only then.
 *
 * @throws REPLY_LIMIT, and what the write throws
 */
export async function explainLimit<Result>(
  db: Db,
  communityId: CommunityId,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'REPLY_LIMIT')) throw error
    const limits = await run(db, selectLimits(communityId))
    const explained = limits && toConstraintError(error.cause, replyLimitConstraints(limits))
    throw explained ?? error
  }
}
