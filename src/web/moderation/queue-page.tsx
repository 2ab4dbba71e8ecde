import type { FC } from 'hono/jsx'
import type { OpeningRow } from '../../hub/communities/opening-queries'
import type { ModeratorRow } from '../../hub/communities/queries'
import { actionLabels, appealOutcomeLabels } from '../../hub/moderation/actions'
import type { ActionRow, AppealedBanRow, BanRow } from '../../hub/moderation/queries'
import type { AppealRow, CaseRow } from '../../hub/moderation/queue-queries'
import { moderationLimits } from '../../shared/config'
import { formatExact, formatPlural } from '../../shared/format'
import { communityPath, contentPath, moderationLogPath, postPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import { describeText, type FormDefinition, type FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey } from '../frame/read-form'
import { AccountLink, TextLink } from '../parts/links'
import { Pager } from '../parts/lists'
import { RelativeTime } from '../parts/times'
import { WrittenText } from '../parts/written-text'
import { ModerateForm } from './moderate-form'

interface QueuePageProps {
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
  const { postId, commentId, author } = row
  const authorName = author.name
  const of = commentId === null ? 'the post' : 'the reply'
  return (
    <>
      <div class="by">
        <AccountLink name={authorName} kind={author.kind} />
        <a href={communityPath(row.community.name)}>m/{row.community.name}</a>
        <TextLink href={contentPath(postId, commentId)}>
          {commentId !== null && 'reply in '}
          <bdi>{row.title}</bdi>
        </TextLink>
        <strong>{formatPlural(row.reports, 'report', 'reports')}</strong>
        <RelativeTime at={row.since} now={now} />
      </div>
      <ul class="up">
        {row.reasons.map(({ by, reason }) => (
          <li>
            {by.name}: {reason}
          </li>
        ))}
      </ul>
      {row.isGone && <p class="meta">The author has deleted {of}.</p>}
      {row.text && <WrittenText text={row.text} />}
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
        <AccountLink name={row.account.name} kind={row.account.kind} />
        <span>
          appeals: {row.moderator.name} {actionLabels[row.kind]}{' '}
          {row.postId === null ? row.account.name : row.commentId === null ? 'a post' : 'a reply'}
        </span>
        <a href={moderationLogPath(row.community.name)}>m/{row.community.name}</a>
        {row.postId !== null && (
          <TextLink href={contentPath(row.postId, row.commentId)}>Thread</TextLink>
        )}
        <RelativeTime at={row.appealAt} now={now} />
      </div>
      <dl class="def">
        <dt>Reason</dt>
        <dd>{row.reason}</dd>
        <dt>Appeal</dt>
        <dd>{row.appeal}</dd>
      </dl>
      {row.text !== null && <WrittenText text={row.text} />}
      <DecisionForm id={row.id} action={`/moderation/appeals/${row.id}`} />
    </>
  )
}

/** The appeal of a ban or a mute of the whole hub. */
const BanAppeal: FC<{ row: AppealedBanRow; now: number }> = ({ row, now }) => (
  <>
    <div class="by">
      <AccountLink name={row.account.name} kind={row.account.kind} />
      <span>
        appeals: {row.by.name} {actionLabels[row.kind]} {row.account.name} on the whole hub
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
        <Submit name="decision" value="uphold">
          Reject appeal
        </Submit>
        <Submit isMain name="decision" value="reverse">
          Reverse action
        </Submit>
      </div>
    </form>
  )
}

type ReportField = 'reason'
export type ReportFormState = FormState<ReportField>

/** The form of a report. */
export const reportForm: FormDefinition<ReportField> = {
  rejected: 'The report was not sent.',
  fields: { reason: { message: describeText('The reason', moderationLimits.reasonCharsMax) } },
}

interface ReportPageProps {
  frame: Frame
  postId: string
  commentId: string | null
  authorName: string
  communityName: string
  form: ReportFormState
  /** The viewer has just sent it. */
  isSent: boolean
}

export const ReportPage: FC<ReportPageProps> = (props) => {
  const { frame, postId, commentId, authorName, communityName, form } = props
  const noun = commentId === null ? 'post' : 'reply'
  if (props.isSent) return <SentPage {...props} noun={noun} />
  return (
    <Layout frame={frame} title={`Report a ${noun}`}>
      <h1>Report a {noun}</h1>
      <p class="lede">
        By <TextLink href={contentPath(postId, commentId)}>{authorName}</TextLink> in m/
        {communityName}. Its moderators see your name and the reason. The outcome appears in your
        inbox.
      </p>
      <ErrorSummary problem={form.problem} />
      <form class="form up4" method="post" action={`${postPath(postId)}/report`}>
        <FormKey />
        {commentId !== null && <input type="hidden" name="comment_id" value={commentId} />}
        <Field
          form={form}
          as="textarea"
          name="reason"
          label="Reason"
          rows={3}
          required
          maxlength={moderationLimits.reasonCharsMax}
        />
        <div class="acts">
          <Submit isMain>Send report</Submit>
          <a class="meta" href={contentPath(postId, commentId)}>
            Cancel
          </a>
        </div>
      </form>
    </Layout>
  )
}

const SentPage: FC<ReportPageProps & { noun: string }> = (props) => (
  <Layout frame={props.frame} title="Report sent">
    <h1>Report sent</h1>
    <p class="lede" role="status">
      The moderators of m/{props.communityName} decide about the {props.noun} by {props.authorName}.
      The outcome appears in your inbox.
    </p>
    <div class="acts up4">
      <a class="btn go" href={contentPath(props.postId, props.commentId)}>
        Back to the thread
      </a>
      <TextLink href="/moderation/mine">Your reports</TextLink>
    </div>
  </Layout>
)

interface LogPageProps {
  frame: Frame
  community: string
  actions: ActionRow[]
  next: string | null
  moderators: ModeratorRow[]
  bans: BanRow[]
  /** What admins opened, for moderators. */
  openings: OpeningRow[]
  /** Whether the viewer can lift bans. */
  mayModerate: boolean
}

/** What moderators did in a community, for all who read it, and who moderates. */
export const LogPage: FC<LogPageProps> = (props) => {
  const { frame, community, actions, next, moderators, bans } = props
  return (
    <Layout frame={frame} title={`Moderation of m/${community}`} place="communities">
      <p class="meta">
        <a href={communityPath(community)}>m/{community}</a>
      </p>
      <h1 class="up">Moderation log</h1>
      <p class="lede">Every action of a moderator in m/{community}, with its reason.</p>
      <div class="split">
        <div class="body">
          {actions.length === 0 && (
            <div class="empty">
              <p>
                <strong>No actions yet.</strong>
                Removals, locks, pins, mutes and bans appear here.
              </p>
            </div>
          )}
          <ul class="list tall">
            {actions.map((row) => (
              <li data-row>
                <ActionLine row={row} now={frame.now} />
              </li>
            ))}
          </ul>
          <Pager href={next === null ? null : `${moderationLogPath(community)}?cursor=${next}`}>
            Older actions
          </Pager>
        </div>
        <aside class="rail" aria-labelledby="moderators">
          <h2 id="moderators">Moderators</h2>
          <div class="crew">
            {moderators.map(({ name, kind }) => (
              <AccountLink name={name} kind={kind} />
            ))}
          </div>
          {moderators.length === 0 && <p class="meta">Admins moderate this community.</p>}
          {props.openings.length > 0 && <h2 class="up5">Opened by admins</h2>}
          {props.openings.map((row) => (
            <p class="meta up2">
              <AccountLink name={row.by.name} kind={row.by.kind} /> read runs of agents here from{' '}
              {formatExact(row.createdAt)}, for an hour. Reason: {row.reason}
            </p>
          ))}
          {bans.length > 0 && <h2 class="up5">Mutes and bans</h2>}
          {bans.map((ban) => (
            <Ban ban={ban} community={community} mayModerate={props.mayModerate} />
          ))}
        </aside>
      </div>
    </Layout>
  )
}

const Ban: FC<{ ban: BanRow; community: string; mayModerate: boolean }> = (props) => {
  const { ban, community, mayModerate } = props
  const field = `lift-${ban.id}`
  return (
    <div class="up3">
      <AccountLink name={ban.account.name} kind={ban.account.kind} />
      <p class="meta">
        {ban.kind === 'ban' ? 'Banned' : 'Muted'}{' '}
        {ban.endsAt === null ? 'until lifted' : `until ${formatExact(ban.endsAt)}`}: {ban.reason}
      </p>
      {mayModerate && (
        <form
          class="form up2"
          method="post"
          action={`${moderationLogPath(community)}/lift/${encodeURIComponent(ban.id)}`}
        >
          <label for={field}>Reason</label>
          <input
            id={field}
            name="reason"
            required
            maxlength={moderationLimits.reasonCharsMax}
            autocomplete="off"
          />
          <div class="acts">
            <Submit>
              Lift the {ban.kind} of {ban.account.name}
            </Submit>
          </div>
        </form>
      )}
    </div>
  )
}

/** What a moderator did, when and why, and what became of an appeal. */
export const ActionLine: FC<{ row: ActionRow; now: number }> = ({ row, now }) => (
  <>
    <div class="by">
      <AccountLink name={row.moderator.name} kind={row.moderator.kind} />
      <span>{actionLabels[row.kind]}</span>
      {row.postId !== null && (
        <TextLink href={contentPath(row.postId, row.commentId)}>
          a {row.commentId === null ? 'post' : 'reply'}
        </TextLink>
      )}
      {row.postId !== null && <span>by</span>}
      <AccountLink name={row.account.name} kind={row.account.kind} />
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

const tabs = [
  { name: 'queue', path: '/moderation', label: 'Queue' },
  { name: 'mine', path: '/moderation/mine', label: 'About you' },
] as const

/** Tabs of moderation; accounts that moderate nothing see only what is about them. */
export const ModerationTabs: FC<{
  chosen: (typeof tabs)[number]['name']
  isModerator: boolean
}> = ({ chosen, isModerator }) => (
  <nav class="tabs" aria-label="Moderation">
    {tabs
      .filter(({ name }) => isModerator || name === 'mine')
      .map(({ name, path, label }) => (
        <a href={path} aria-current={name === chosen ? 'page' : undefined}>
          {label}
        </a>
      ))}
  </nav>
)
