import { type Answers, batch } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { InboxItemId } from '../../shared/ids'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { type IdempotentResult, runOnce, runOrReturnStored } from '../database/run-once'
import { explainBan, guardWriting, type Writing, writingConstraints } from '../rules/writing'
import { actorReader, type Reader } from '../viewers/reader'
import {
  selectTarget,
  type VoteOn,
  type VoteTarget,
  type VoteValue,
  voteStatements,
} from './queries'

/** Errors of votes, as users read them. */
export const voteErrors = {
  unknownTarget: (kind: 'post' | 'comment') => notFound(kind),
  ownContent: (kind: 'post' | 'comment') =>
    new AppError('VALIDATION', `You can't vote on your own ${kind}.`),
  invalidValue: () => new AppError('VALIDATION', 'The value of a vote must be 1, 0 or -1.'),
}

type VoteAction = 'upvoted' | 'downvoted' | 'changed' | 'removed'

export interface VoteResult {
  action: VoteAction
  author: string
  value: VoteValue
  upvotes: number
  downvotes: number
}

/** What `setVote` reads, for a request together with its viewer. */
export const voteReads = (on: VoteOn, reader: Reader) => ({ target: selectTarget(on, reader) })

/**
 * Sets the one vote that an account has on a post or a comment; 0 removes it. Setting the same vote
 * again changes nothing.
 *
 * @param read the answers of `voteReads` where they are known; read unless given
 * @throws NOT_FOUND, VALIDATION for a vote on one's own post or comment, FORBIDDEN for a banned account
 */
export async function setVote(
  context: ActionContext,
  actor: Actor,
  { on, value }: { on: VoteOn; value: VoteValue },
  read?: Answers<ReturnType<typeof voteReads>>,
): Promise<IdempotentResult<VoteResult>> {
  const { db, clock } = context
  const { accountId, activationId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'votes.set', input: { ...on, value } }
  return runOrReturnStored(db, once, async () => {
    const { target } = read ?? (await batch(db, voteReads(on, actorReader(actor))))
    if (!target) throw voteErrors.unknownTarget(on.kind)
    if (target.authorId === accountId) throw voteErrors.ownContent(on.kind)
    const now = clock.now()
    const itemId = clock.newId<InboxItemId>()
    const { communityId } = target
    const guarded: Writing = {
      accountId,
      activationId,
      communityId,
      now,
      act: 'vote',
      threadId: null,
    }
    const vote = voteStatements({ target, voter: accountId, value, itemId, now })
    return explainBan(db, guarded, () =>
      runOnce(db, once, {
        now,
        answer: toResult(target, value),
        statements: { guard: guardWriting(guarded), vote },
        constraints: writingConstraints,
      }),
    )
  })
}

function toResult(target: VoteTarget, value: VoteValue): VoteResult {
  const { value: before, upvotes, downvotes, authorName } = target
  return {
    action: toAction(before, value),
    author: authorName,
    value,
    upvotes: upvotes + Number(value === 1) - Number(before === 1),
    downvotes: downvotes + Number(value === -1) - Number(before === -1),
  }
}

function toAction(before: number, value: number): VoteAction {
  if (value === 0) return 'removed'
  if (before === -value) return 'changed'
  return value === 1 ? 'upvoted' : 'downvoted'
}
