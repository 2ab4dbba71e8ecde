import type { InboxItemId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce, runOrReturnStored } from '../idempotency/run-once'
import { voteErrors } from './errors'
import { selectTarget, type VoteTarget, voteStatements } from './queries'

export type VoteAction = 'upvoted' | 'downvoted' | 'changed' | 'removed'

export interface VoteResult {
  action: VoteAction
  author: string
  value: -1 | 0 | 1
  upvotes: number
  downvotes: number
}

/**
 * Sets the one vote that an account has on a post or a comment; 0 removes it. Setting the same vote
 * again changes nothing.
 *
 * @throws NOT_FOUND, VALIDATION for a vote on one's own post or comment
 */
export async function setVote(
  context: ActionContext,
  actor: Actor,
  on: { kind: 'post' | 'comment'; id: string },
  value: -1 | 0 | 1,
): Promise<IdempotentResult<VoteResult>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'votes.set', input: { ...on, value } }
  return runOrReturnStored(db, once, async () => {
    const target = await selectTarget(db, on.kind, on.id, accountId).first<VoteTarget>()
    if (!target) throw voteErrors.unknownTarget(on.kind)
    if (target.authorId === accountId) throw voteErrors.ownContent(on.kind)
    const now = clock.now()
    const itemId = clock.newId<InboxItemId>()
    return runOnce(db, once, {
      now,
      answer: toResult(target, value),
      statements: voteStatements(db, { target, voter: accountId, value, itemId, now }),
    })
  })
}

function toResult(target: VoteTarget, value: -1 | 0 | 1): VoteResult {
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
