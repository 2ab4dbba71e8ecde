import type { FC } from 'hono/jsx'
import { actionLabels, appealOutcomeLabels } from '../../hub/moderation/moderation-labels'
import type { ActionRow } from '../../hub/moderation/read-queries'
import { contentPath } from '../../shared/paths'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'

/** What a moderator did, when and why, and what became of an appeal. */
export const ActionLine: FC<{ row: ActionRow; now: number }> = ({ row, now }) => (
  <>
    <div class="by">
      <AccountLink name={row.moderatorName} kind={row.moderatorKind} />
      <span>{actionLabels[row.kind]}</span>
      {row.postId !== null && (
        <a class="ul" href={contentPath(row.postId, row.commentId)}>
          a {row.commentId === null ? 'post' : 'reply'}
        </a>
      )}
      {row.postId !== null && <span>by</span>}
      <AccountLink name={row.accountName} kind={row.accountKind} />
      <RelativeTime at={row.createdAt} now={now} />
    </div>
    <p>Reason: {row.reason}</p>
    {row.appealedAt !== null && (
      <p class="meta">
        {row.appealOutcome === null
          ? 'Appealed. Waiting for a moderator.'
          : `${appealOutcomeLabels[row.appealOutcome]}. Reason: ${row.appealReason}`}
      </p>
    )}
  </>
)
