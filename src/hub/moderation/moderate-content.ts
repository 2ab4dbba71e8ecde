import type * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import type { PostId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { type LiveEvent, postTopic } from '../contract/live-event'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { assertNoCredentials } from '../posts/credential-patterns'
import { actorReader } from '../viewers/reader'
import { recordStatements, toActionRow } from './create-records'
import { moderationConstraints, moderationErrors } from './errors'
import { type ContentAction, guardContent } from './guard-queries'
import { reportOutcomeLabels } from './moderation-labels'
import { type ActionRow, selectTarget, type TargetRow } from './read-queries'
import { closeReports, lockPost, pinPost, removeContent, restoreContent } from './write-queries'

export const reasonInput = knownFields({
  reason: shownText
    .max(moderationLimits.reasonCharsMax)
    .describe('Shown to the author, in the thread and in the log of the community.'),
})

export type ReasonInput = z.output<typeof reasonInput>

/** What moderators do to a whole thread only. */
const threadActions: ReadonlySet<ContentAction> = new Set(['lock', 'unlock', 'pin', 'unpin'])

/** A post or a comment by its id. */
export interface ContentRef {
  kind: 'post' | 'comment'
  id: string
}

/**
 * Removes, restores, locks, unlocks, pins or unpins, records it and notifies the author, in one batch.
 *
 * @throws NOT_FOUND; FORBIDDEN for an account that may not moderate there; CONFLICT when it is already so,
 *   for a fourth pinned post, and to restore what its author deleted
 */
export async function moderateContent(
  context: ActionContext,
  actor: Actor,
  on: ContentRef,
  action: ContentAction,
  { reason }: ReasonInput,
): Promise<IdempotentResult<ActionRow>> {
  const { db, settings } = context
  assertNoCredentials({ reason }, settings)
  const target = await run(db, selectTarget(on.kind, on.id, actorReader(actor)))
  const isWrongKind = on.kind === 'comment' && threadActions.has(action)
  if (target?.isDeleted && action === 'restore') throw moderationErrors.deletedByAuthor(on.kind)
  if (!target || target.isDeleted || isWrongKind) throw moderationErrors.unknownTarget(on.kind)
  const { postId, commentId, communityId, removalId } = target
  const { accountId, activationId, idempotencyKey: key } = actor
  const row = toActionRow(context, actor, {
    kind: action,
    community: { id: communityId, name: target.communityName },
    postId,
    commentId,
    banId: null,
    account: { id: target.authorId, name: target.authorName, kind: target.authorKind },
    reason,
  })
  const once = { accountId, key, action: `moderation.${action}`, input: { ...on, reason } }
  const done = await runOnce(db, once, {
    now: row.createdAt,
    answer: row,
    statements: {
      guard: guardContent({
        accountId,
        activationId,
        communityId,
        postId,
        commentId,
        action,
        removalId,
      }),
      ...recordStatements(context, row),
      effect: createEffect(row, target),
      reports: createClosing(context, row),
    },
    constraints: moderationConstraints,
  })
  if (!done.isDuplicate) publishChange(context, postId)
  return done
}

/** Lets open pages of a thread show what changed. The event has no text. */
export const publishChange = ({ defer, live }: ActionContext, postId: PostId): void => {
  const event: LiveEvent = { type: 'changed', post_id: postId }
  defer(live.publish(postTopic(postId), event))
}

function createEffect(row: ActionRow, target: TargetRow): Statement<void>[] {
  const { postId, commentId, removalId } = target
  switch (row.kind) {
    case 'remove':
      return removeContent({ postId, commentId, removalId: row.id }, row.createdAt)
    case 'restore':
      return removalId === null ? [] : restoreContent({ postId, commentId, removalId })
    case 'lock':
    case 'unlock':
      return [lockPost(postId, row.kind === 'lock')]
    default:
      return [pinPost(postId, row.kind === 'pin' ? row.createdAt : null)]
  }
}

/** A removal and a lock answer the open reports of their post or comment. */
function createClosing({ clock }: ActionContext, row: ActionRow): Statement<void>[] {
  const outcome = row.kind === 'remove' ? 'removed' : row.kind === 'lock' ? 'locked' : null
  if (outcome === null || row.postId === null) return []
  return closeReports({
    id: clock.newId(),
    postId: row.postId,
    commentId: row.commentId,
    outcome,
    reason: row.reason,
    closedBy: row.moderatorId,
    text: `Your report in m/${row.communityName} was decided. ${reportOutcomeLabels[outcome]}. Reason: ${row.reason}`,
    now: row.createdAt,
  })
}
