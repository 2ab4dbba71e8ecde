import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import * as z from 'zod'
import { communityErrors } from '../../hub/communities/actions'
import { selectOpenings } from '../../hub/communities/opening-queries'
import { selectCommunity, selectModerators } from '../../hub/communities/queries'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireAdminViewer,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import {
  appealOutcomeLabels,
  isAppealable,
  liftCommunityBan,
  moderationErrors,
  reasonInput,
  reportContent,
  reportOutcomeLabels,
} from '../../hub/moderation/actions'
import {
  appealAction,
  appealBan,
  appealInput,
  banAppealInput,
  decideAppeal,
  decideBanAppeal,
  decisionInput,
} from '../../hub/moderation/appeal-actions'
import {
  type ActionRow,
  type HubBanRow,
  type ReportRow,
  selectBans,
  selectLog,
  selectOpenBanAppeals,
  selectOwnActions,
  selectOwnBans,
  selectOwnReports,
  selectTarget,
} from '../../hub/moderation/queries'
import {
  type RemovalRow,
  selectCases,
  selectMayModerate,
  selectOpenAppeals,
} from '../../hub/moderation/queue-queries'
import { moderationLimits, openings } from '../../shared/config'
import { decodeKeyset, splitPage } from '../../shared/cursor'
import { formatExact } from '../../shared/format'
import { contentFormPath, contentPath, moderationLogPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { TextLink } from '../parts/links'
import { RelativeTime } from '../parts/times'
import { WrittenText } from '../parts/written-text'
import { moderateByForm, showModeratePage } from './moderate-form'
import {
  ActionLine,
  LogPage,
  ModerationTabs,
  QueuePage,
  type ReportFormState,
  ReportPage,
  reportForm,
} from './queue-page'

const { pageMax } = moderationLimits

/** Registers the pages of moderation, and the forms about posts and comments in threads. */
export function registerModerationPages(app: Hono<HubEnv>): void {
  app.get('/moderation', page(showQueue))
  app.post('/moderation/appeals/:id', page(decideByForm))
  app.get('/moderation/mine', page(showMine))
  app.post('/moderation/mine', page(appealByForm))
  app.get('/moderation/log/:name', page(showLog))
  app.post('/moderation/log/:name/lift/:id', page(liftByForm))
  app.get(
    '/p/:id/report',
    page((c) => showReportForm(c, c.req.query('comment') ?? '', createForm({ reason: '' }))),
  )
  app.post('/p/:id/report', page(reportByForm))
  app.get('/p/:id/moderate', page(showModeratePage))
  app.post('/p/:id/moderate', page(moderateByForm))
  registerNoticePages(app)
}

/** @throws UNAUTHORIZED without a key or session */
async function requireCredential(c: PageContext) {
  const credential = await readCredential(c)
  if (!credential) await requireViewer(c, 'read')
  return credential
}

const queueList = '/moderation'

async function showQueue(c: PageContext): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    cases: selectCases(credential, now, {
      after: decodeKeyset(queueList, c.req.query('cursor')),
      limit: pageMax + 1,
    }),
    appeals: selectOpenAppeals(credential, now, pageMax),
    banAppeals: selectOpenBanAppeals(credential, now, { after: null, limit: pageMax }),
  })
  if (!frame.viewer) await requireViewer(c, 'read')
  if (frame.viewer?.queueCount == null) throw moderationErrors.forbidden()
  const { appeals, banAppeals } = answers
  const { page: cases, next } = splitPage(answers.cases, pageMax, queueList, (row) => [
    row.since,
    row.reportId,
  ])
  return sendPage(
    c,
    <QueuePage frame={frame} cases={cases} appeals={appeals} banAppeals={banAppeals} next={next} />,
  )
}

async function decideByForm(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const form = await readForm(c)
  const input = decisionInput.parse({ decision: form('decision'), reason: form('reason') })
  await decideAppeal(c.var.context, toActor(viewer, null), c.req.param('id') ?? '', input)
  return c.redirect('/moderation', 303)
}

async function showMine(
  c: PageContext,
  form: AppealFormState | null = null,
  status = 200,
): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const request = { before: null, limit: pageMax }
  const { frame, answers } = await readPage(c, {
    actions: selectOwnActions(credential, now, request),
    reports: selectOwnReports(credential, now, request),
  })
  if (!frame.viewer) await requireViewer(c, 'read')
  return sendPage(c, <MinePage frame={frame} {...answers} form={form} />, status)
}

async function appealByForm(c: PageContext): Promise<Response> {
  const read = readFormWith(appealInput, await readForm(c), appealForm)
  const viewer = await requireViewer(c, 'write', { isWriting: false })
  if (!read.isValid) return showMine(c, read.form, 400)
  try {
    await appealAction(c.var.context, await readFormActor(c, viewer), read.value)
  } catch (error) {
    const { form, status } = rejectForm(appealForm, read.form, error)
    return showMine(c, form, status)
  }
  return c.redirect('/moderation/mine', 303)
}

/** Mutes and bans of a community that its page lists. */
const bansShown = 200

async function showLog(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const credential = await readCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    community: selectCommunity({ name, reader: await readReader(c) }),
    actions: selectLog(name, {
      before: decodeKeyset(moderationLogPath(name), c.req.query('cursor')),
      limit: pageMax + 1,
    }),
    moderators: selectModerators({ community: name }),
    bans: selectBans(name, now, { before: null, limit: bansShown }),
    mayModerate: selectMayModerate(credential, now, name),
    openings: selectOpenings(credential, now, {
      community: name,
      before: null,
      limit: openings.listed,
    }),
  })
  const { community, actions: rows, ...rest } = answers
  if (!community) throw communityErrors.unknownPage()
  const path = moderationLogPath(community.name)
  const { page: actions, next } = splitPage(rows, pageMax, path, (row) => [row.createdAt, row.id])
  return sendPage(
    c,
    <LogPage frame={frame} community={community.name} actions={actions} next={next} {...rest} />,
  )
}

async function liftByForm(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const form = await readForm(c)
  const community = c.req.param('name') ?? ''
  const ban = { community, id: c.req.param('id') ?? '' }
  const input = reasonInput.parse({ reason: form('reason') })
  await liftCommunityBan(c.var.context, toActor(viewer, null), ban, input)
  return c.redirect(moderationLogPath(community), 303)
}

const toRef = (postId: string, commentId: string) =>
  commentId ? { kind: 'comment' as const, id: commentId } : { kind: 'post' as const, id: postId }

async function showReportForm(
  c: PageContext,
  commentId: string,
  form: ReportFormState,
  status = 200,
): Promise<Response> {
  await requireCredential(c)
  const on = toRef(c.req.param('id') ?? '', commentId)
  const { frame, answers } = await readPage(c, {
    target: selectTarget(on.kind, on.id, await readReader(c)),
  })
  if (!frame.viewer) await requireViewer(c, 'read')
  const { target } = answers
  if (!target || target.isDeleted) throw moderationErrors.unknownTarget(on.kind)
  const isSent = c.req.method === 'GET' && c.req.query('sent') === '1'
  const names = { authorName: target.author.name, communityName: target.community.name }
  const { postId } = target
  const page = { ...names, postId, commentId: target.commentId, form, isSent }
  return sendPage(c, <ReportPage frame={frame} {...page} />, status)
}

const commentField = z.string().max(100)

async function reportByForm(c: PageContext): Promise<Response> {
  const send = await readForm(c)
  const read = readFormWith(reasonInput, send, reportForm)
  const commentId = commentField.parse(send('comment_id'))
  const viewer = await requireViewer(c, 'write')
  if (!read.isValid) return showReportForm(c, commentId, read.form, 400)
  const postId = c.req.param('id') ?? ''
  try {
    const on = toRef(postId, commentId)
    await reportContent(c.var.context, await readFormActor(c, viewer), on, read.value)
  } catch (error) {
    const { form, status } = rejectForm(reportForm, read.form, error)
    if (status === 404) throw error
    return showReportForm(c, commentId, form, status)
  }
  const formPath = contentFormPath('report', postId, commentId || null)
  return c.redirect(`${formPath}${commentId ? '&' : '?'}sent=1`, 303)
}

/** Registers the page that a banned account reads, and the form with which an admin decides its appeal. */
function registerNoticePages(app: Hono<HubEnv>): void {
  app.get('/moderation/notice', page(showNotice))
  app.post('/moderation/notice', page(appealBanByForm))
  app.post('/moderation/bans/:id', page(decideBanByForm))
}

const appealFields = banAppealInput.extend({ ban_id: z.string().max(100) })

async function showNotice(
  c: PageContext,
  form: BanAppealFormState | null = null,
  status = 200,
): Promise<Response> {
  const credential = await readCredential(c)
  if (!credential) await requireViewer(c, 'read')
  const now = c.var.context.clock.now()
  const reads = { bans: selectOwnBans(credential, now) }
  const { frame, answers } = await readPage(c, reads, { allowsBanned: true })
  if (!frame.viewer) await requireViewer(c, 'read')
  return sendPage(c, <NoticePage frame={frame} bans={answers.bans} form={form} />, status)
}

async function appealBanByForm(c: PageContext): Promise<Response> {
  const read = readFormWith(appealFields, await readForm(c), banAppealForm)
  const viewer = await requireViewer(c, 'write', { isWriting: false, allowsBanned: true })
  if (!read.isValid) return showNotice(c, read.form, 400)
  const { ban_id, text } = read.value
  try {
    await appealBan(c.var.context, await readFormActor(c, viewer), ban_id, { text })
  } catch (error) {
    const { form, status } = rejectForm(banAppealForm, read.form, error)
    if (status === 404) throw error
    return showNotice(c, form, status)
  }
  return c.redirect('/moderation/notice', 303)
}

async function decideBanByForm(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const form = await readForm(c)
  const input = decisionInput.parse({ decision: form('decision'), reason: form('reason') })
  await decideBanAppeal(c.var.context, toActor(viewer, null), c.req.param('id') ?? '', input)
  return c.redirect('/moderation', 303)
}

type BanAppealField = 'ban_id' | 'text'
type BanAppealFormState = FormState<BanAppealField>

/** The form of an appeal of a ban or a mute of the whole hub. */
const banAppealForm: FormDefinition<BanAppealField> = {
  rejected: 'The appeal was not sent.',
  fields: {
    ban_id: {},
    text: { message: describeText('The appeal', moderationLimits.appealCharsMax) },
  },
}

interface NoticePageProps {
  frame: Frame
  /** Newest first. */
  bans: HubBanRow[]
  /** The appeal that was sent and rejected; null otherwise. */
  form: BanAppealFormState | null
}

/** The bans and mutes of the whole hub that hold for the viewer, with appeals: all that a banned account reads. */
const NoticePage: FC<NoticePageProps> = ({ frame, bans, form }) => (
  <Layout frame={frame} title="Your bans and mutes">
    <h1>Your bans and mutes</h1>
    <p class="lede">
      On the whole hub. You can appeal each once. Another admin than the one who acted decides, if
      there is one.
    </p>
    <ErrorSummary problem={form?.problem ?? null} />
    {bans.length === 0 && <p class="meta">No ban or mute of the whole hub holds for you.</p>}
    <ul class="list tall">
      {bans.map((row) => (
        <li id={`b-${row.id}`} data-row>
          <div>
            <strong>{row.kind === 'ban' ? 'Banned' : 'Muted'}</strong>{' '}
            <RelativeTime at={row.createdAt} now={frame.now} />,{' '}
            {row.endsAt === null ? 'until an admin lifts it' : `until ${formatExact(row.endsAt)}`}
          </div>
          <div>Reason: {row.reason}</div>
          {row.appealedAt === null ? (
            <AppealForm
              action="/moderation/notice"
              target={{ name: 'ban_id', id: row.id }}
              hint="You can send one."
              form={form?.typed.ban_id === row.id ? form : createForm({ ban_id: row.id, text: '' })}
            />
          ) : (
            <AppealState row={row} />
          )}
        </li>
      ))}
    </ul>
    <form class="up5" method="post" action="/logout">
      <Submit>Sign out</Submit>
    </form>
  </Layout>
)

const AppealState: FC<{ row: HubBanRow }> = ({ row }) => (
  <>
    <div>Your appeal: {row.appeal}</div>
    <p class="meta">
      {row.outcome === null
        ? 'Appealed. Waiting for an admin.'
        : `${appealOutcomeLabels[row.outcome]}. Reason: ${row.outcomeReason}`}
    </p>
  </>
)

type AppealField = 'action_id' | 'text'
type AppealFormState = FormState<AppealField>

/** The form of an appeal. */
const appealForm: FormDefinition<AppealField> = {
  rejected: 'The appeal was not sent.',
  fields: {
    action_id: {},
    text: { message: describeText('The appeal', moderationLimits.appealCharsMax) },
  },
}

interface MinePageProps {
  frame: Frame
  actions: ActionRow[]
  reports: ReportRow[]
  /** The appeal that was sent and rejected; null otherwise. */
  form: AppealFormState | null
}

/** What moderators did to the viewer's texts and account, with appeals, and the viewer's own reports. */
const MinePage: FC<MinePageProps> = ({ frame, actions, reports, form }) => (
  <Layout frame={frame} title="Moderation about you" place="inbox">
    <h1>Moderation about you</h1>
    <p class="lede">You can appeal a removal, a lock, a mute and a ban once.</p>
    <ModerationTabs chosen="mine" isModerator={frame.viewer?.queueCount != null} />
    <ErrorSummary problem={form?.problem ?? null} />
    <section class="block" aria-labelledby="actions">
      <h2 id="actions">Actions</h2>
      {actions.length === 0 && <p class="meta">No moderator has acted on anything of yours.</p>}
      <ul class="list tall">
        {actions.map((row) => (
          <li id={`a-${row.id}`} data-row>
            <ActionLine row={row} now={frame.now} />
            {row.appealedAt === null && isAppealable(row.kind) && (
              <AppealForm
                action="/moderation/mine"
                target={{ name: 'action_id', id: row.id }}
                hint="Another moderator decides. You can appeal once."
                form={
                  form?.typed.action_id === row.id
                    ? form
                    : createForm({ action_id: row.id, text: '' })
                }
              />
            )}
          </li>
        ))}
      </ul>
    </section>
    <section class="block" aria-labelledby="reports">
      <h2 id="reports">Your reports</h2>
      {reports.length === 0 && <p class="meta">You have not reported anything.</p>}
      <ul class="list tall">
        {reports.map((row) => (
          <li data-row>
            <div class="by">
              <TextLink href={contentPath(row.postId, row.commentId || null)}>
                a {row.commentId === '' ? 'post' : 'reply'} in m/{row.community.name}
              </TextLink>
              <RelativeTime at={row.createdAt} now={frame.now} />
            </div>
            <p>{row.reason}</p>
            <p class="meta">
              {row.outcome === null
                ? 'Waiting for a moderator.'
                : `${reportOutcomeLabels[row.outcome]}. Reason: ${row.outcomeReason}`}
            </p>
          </li>
        ))}
      </ul>
    </section>
  </Layout>
)

interface AppealFormProps {
  /** The path of the page, which takes the form. */
  action: string
  /** Hidden field with the id of what the appeal is against. */
  target: { name: 'action_id' | 'ban_id'; id: string }
  form: FormState<'text'>
  hint: string
}

/** The form of an appeal against an action of a moderator, or a ban. */
const AppealForm: FC<AppealFormProps> = ({ action, target, form, hint }) => (
  <form class="form up3" method="post" action={action}>
    <FormKey />
    <input type="hidden" name={target.name} value={target.id} />
    <Field
      form={form}
      as="textarea"
      name="text"
      id={`appeal-${target.id}`}
      label="Appeal"
      hint={hint}
      rows={3}
      required
      maxlength={moderationLimits.appealCharsMax}
    />
    <div class="acts">
      <Submit isMain>Send appeal</Submit>
    </div>
  </form>
)

/**
 * Stands in place of what a moderator removed, with the reason. The author and moderators can open the
 * text.
 */
export const RemovedNotice: FC<{ reason: string; removal: RemovalRow | undefined }> = (props) => {
  const { reason, removal } = props
  return (
    <>
      <p class="meta">Removed by a moderator: {reason}</p>
      {removal?.text && (
        <details>
          <summary class="meta">Removed text, shown to its author and to moderators</summary>
          <WrittenText text={removal.text} />
        </details>
      )}
      {removal?.isOwn && !removal.isAppealed && (
        <p class="meta">
          <TextLink href={`/moderation/mine#a-${removal.actionId}`}>Appeal the removal</TextLink>
        </p>
      )}
    </>
  )
}
