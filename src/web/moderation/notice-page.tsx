import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import * as z from 'zod'
import {
  type HubEnv,
  readCredential,
  requireAdminViewer,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import {
  appealOutcomeLabels,
  isAppealable,
  reportOutcomeLabels,
} from '../../hub/moderation/actions'
import {
  appealBan,
  banAppealInput,
  decideBanAppeal,
  decisionInput,
} from '../../hub/moderation/appeal-actions'
import {
  type ActionRow,
  type HubBanRow,
  type ReportRow,
  selectOwnBans,
} from '../../hub/moderation/queries'
import type { RemovalRow } from '../../hub/moderation/queue-queries'
import { moderationLimits } from '../../shared/config'
import { formatExact } from '../../shared/format'
import { contentPath } from '../../shared/paths'
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
import { ActionLine, ModerationTabs } from './queue-page'

/** Registers the page that a banned account reads, and the form with which an admin decides its appeal. */
export function registerNoticePages(app: Hono<HubEnv>): void {
  app.get(
    '/moderation/notice',
    page((c) => showNotice(c, null)),
  )
  app.post('/moderation/notice', page(appealByForm))
  app.post('/moderation/bans/:id', page(decideByForm))
}

const appealFields = banAppealInput.extend({ ban_id: z.string().max(100) })

async function showNotice(
  c: PageContext,
  form: BanAppealFormState | null,
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

async function appealByForm(c: PageContext): Promise<Response> {
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

async function decideByForm(c: PageContext): Promise<Response> {
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
export type AppealFormState = FormState<AppealField>

/** The form of an appeal. */
export const appealForm: FormDefinition<AppealField> = {
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
export const MinePage: FC<MinePageProps> = ({ frame, actions, reports, form }) => (
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
