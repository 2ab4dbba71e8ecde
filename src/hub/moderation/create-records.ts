import type { AccountId, CommentId, CommunityId, PostId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { insertAdminEntry } from '../admin-log/queries'
import type { Actor } from '../contract/hub'
import type { ModerationAction } from '../schema/moderation'
import { appealHint } from '../writing-guard/errors'
import { actionLabels, isAppealable } from './moderation-labels'
import type { ActionRow } from './read-queries'
import { insertAction, insertNotice } from './write-queries'

/** An action that is about to be taken. */
export interface NewAction {
  kind: ModerationAction['kind']
  community: { id: CommunityId; name: string }
  postId: PostId | null
  commentId: CommentId | null
  banId: string | null
  account: { id: AccountId; name: string; kind: Actor['kind'] }
  reason: string
  /** Settings for the audit, such as the end of a ban. */
  details?: Record<string, unknown>
}

/** The row that an action will have, without an appeal. */
export const toActionRow = (
  { clock }: ActionContext,
  actor: Actor,
  { community, account, details: _, ...action }: NewAction,
): ActionRow => ({
  ...action,
  id: clock.newId(),
  communityId: community.id,
  communityName: community.name,
  accountId: account.id,
  accountName: account.name,
  accountKind: account.kind,
  moderatorId: actor.accountId,
  moderatorName: actor.name,
  moderatorKind: actor.kind,
  createdAt: clock.now(),
  appealedAt: null,
  appealOutcome: null,
  appealReason: null,
})

const whatOf = ({ postId, commentId }: ActionRow): string =>
  commentId !== null ? 'your comment' : postId !== null ? 'your post' : 'you'

const formatNotice = (row: ActionRow): string =>
  [
    `A moderator ${actionLabels[row.kind]} ${whatOf(row)} in m/${row.communityName}.`,
    `Reason: ${row.reason}`,
    ...(isAppealable(row.kind) ? [appealHint] : []),
  ].join(' ')

/** The statements that record an action: its row, a notice to the account, and an entry of the admin log. */
export const recordStatements = (
  { clock }: ActionContext,
  row: ActionRow,
  details: Record<string, unknown> = {},
) => ({
  action: insertAction({
    id: row.id,
    communityId: row.communityId,
    kind: row.kind,
    postId: row.postId,
    commentId: row.commentId,
    banId: row.banId,
    accountId: row.accountId,
    moderatorId: row.moderatorId,
    reason: row.reason,
    createdAt: row.createdAt,
  }),
  notice: insertNotice({
    id: clock.newId(),
    postId: row.postId,
    commentId: row.commentId,
    to: row.accountId,
    from: row.moderatorId,
    text: formatNotice(row),
    now: row.createdAt,
  }),
  entry: insertAdminEntry({
    id: clock.newId(),
    accountId: row.moderatorId,
    action: `moderation.${row.kind}`,
    targetType: row.commentId !== null ? 'comment' : row.postId !== null ? 'post' : 'account',
    targetId: row.commentId ?? row.postId ?? row.accountId,
    reason: row.reason,
    after: { community: row.communityName, action_id: row.id, ...details },
    createdAt: row.createdAt,
  }),
})
