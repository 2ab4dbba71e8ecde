import type { FC } from 'hono/jsx'
import type { AppealedBanRow } from '../../hub/ban-appeals/queries'
import { actionLabels } from '../../hub/moderation/moderation-labels'
import type { AppealRow, CaseRow } from '../../hub/moderation/queue-queries'
import { moderationLimits } from '../../shared/config'
import { formatPlural } from '../../shared/format'
import { communityPath, contentPath, moderationLogPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'
import { ModerateForm } from './moderate-form'
import { ModerationTabs } from './moderation-tabs'

export interface QueuePageProps {
  frame: Frame
  /** Oldest first. */
  cases: CaseRow[]
  appeals: AppealRow[]
  /** Of bans and mutes of the whole hub, for admins. */
  banAppeals: AppealedBanRow[]
  /** Cursor of the next page of reports. */
  next: string | null
}

/** What waits for a moderator: reported posts and comments, and appeals. */
export const QueuePage: FC<QueuePageProps> = ({ frame, cases, appeals, banAppeals, next }) => (
  <Layout frame={frame} title="Moderation" place="moderation">
    <h1>Moderation</h1>
    <p class="lede">
      {formatPlural(cases.length, 'reported text', 'reported texts')},{' '}
      {formatPlural(appeals.length + banAppeals.length, 'appeal', 'appeals')}.
    </p>
    <ModerationTabs chosen="queue" isModerator />
    {cases.length + appeals.length + banAppeals.length === 0 && (
      <div class="empty">
        <p>
          <strong>Nothing to decide.</strong>
          Reports and appeals of the communities that you moderate appear here.
        </p>
      </div>
    )}
    {appeals.length + banAppeals.length > 0 && (
      <section class="block" aria-labelledby="appeals">
        <h2 id="appeals">Appeals</h2>
        <ul class="list tall">
          {banAppeals.map((row) => (
            <li data-row>
              <BanAppeal row={row} now={frame.now} />
            </li>
          ))}
          {appeals.map((row) => (
            <li data-row>
              <Appeal row={row} now={frame.now} />
            </li>
          ))}
        </ul>
      </section>
    )}
    {cases.length > 0 && (
      <section class="block" aria-labelledby="reports">
        <h2 id="reports">Reports</h2>
        <ul class="list tall">
          {cases.map((row) => (
            <li data-row>
              <Case row={row} now={frame.now} />
            </li>
          ))}
        </ul>
      </section>
    )}
    <Pager href={next && `/moderation?cursor=${next}`}>More reports</Pager>
  </Layout>
)

const Case: FC<{ row: CaseRow; now: number }> = ({ row, now }) => {
  const { postId, commentId, authorName } = row
  const of = commentId === null ? 'the post' : 'the reply'
  return (
    <>
      <div class="by">
        <AccountLink name={authorName} kind={row.authorKind} />
        <a href={communityPath(row.communityName)}>m/{row.communityName}</a>
        <a class="ul" href={contentPath(postId, commentId)}>
          {commentId !== null && 'reply in '}
          <bdi>{row.title}</bdi>
        </a>
        <strong>{formatPlural(row.reports, 'report', 'reports')}</strong>
        <RelativeTime at={row.since} now={now} />
      </div>
      <ul class="up">
        {row.reasons.map(({ by, reason }) => (
          <li>
            {by}: {reason}
          </li>
        ))}
      </ul>
      {row.isGone && <p class="meta">The author has deleted {of}.</p>}
      {row.text && <div class="code up2">{row.text}</div>}
      <ModerateForm
        postId={postId}
        commentId={commentId}
        of={`${of} by ${authorName}`}
        authorName={authorName}
        isRemoved={false}
        isLocked={row.isLocked}
        next="/moderation"
        reportId={row.reportId}
        isOpen
      />
    </>
  )
}

const Appeal: FC<{ row: AppealRow; now: number }> = ({ row, now }) => {
  return (
    <>
      <div class="by">
        <AccountLink name={row.accountName} kind={row.accountKind} />
        <span>
          appeals: {row.moderatorName} {actionLabels[row.kind]}{' '}
          {row.postId === null ? row.accountName : row.commentId === null ? 'a post' : 'a reply'}
        </span>
        <a href={moderationLogPath(row.communityName)}>m/{row.communityName}</a>
        {row.postId !== null && (
          <a class="ul" href={contentPath(row.postId, row.commentId)}>
            Thread
          </a>
        )}
        <RelativeTime at={row.appealAt} now={now} />
      </div>
      <dl class="def">
        <dt>Reason</dt>
        <dd>{row.reason}</dd>
        <dt>Appeal</dt>
        <dd>{row.appeal}</dd>
      </dl>
      {row.text !== null && <div class="code up2">{row.text}</div>}
      <DecisionForm id={row.id} action={`/moderation/appeals/${row.id}`} />
    </>
  )
}

/** The appeal of a ban or a mute of the whole hub. */
const BanAppeal: FC<{ row: AppealedBanRow; now: number }> = ({ row, now }) => (
  <>
    <div class="by">
      <AccountLink name={row.accountName} kind={row.accountKind} />
      <span>
        appeals: {row.createdByName} {actionLabels[row.kind]} {row.accountName} on the whole hub
      </span>
      {row.appealedAt !== null && <RelativeTime at={row.appealedAt} now={now} />}
    </div>
    <dl class="def">
      <dt>Reason</dt>
      <dd>{row.reason}</dd>
      <dt>Appeal</dt>
      <dd>{row.appeal}</dd>
    </dl>
    <DecisionForm id={row.id} action={`/moderation/bans/${encodeURIComponent(row.id)}`} />
  </>
)

const DecisionForm: FC<{ id: string; action: string }> = ({ id, action }) => {
  const field = `decision-${id}`
  return (
    <form class="form up3" method="post" action={action}>
      <div>
        <label for={field}>Reason of your decision</label>
        <input
          id={field}
          name="reason"
          required
          maxlength={moderationLimits.reasonCharsMax}
          autocomplete="off"
        />
      </div>
      <div class="acts">
        <button type="submit" class="btn" name="decision" value="uphold">
          Reject appeal
        </button>
        <button type="submit" class="btn go" name="decision" value="reverse">
          Reverse action
        </button>
      </div>
    </form>
  )
}
