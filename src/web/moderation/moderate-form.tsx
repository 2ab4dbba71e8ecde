import type { FC } from 'hono/jsx'
import * as z from 'zod'
import type { Actor } from '../../hub/contract/hub'
import { readCredential, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import {
  banAccount,
  type ContentRef,
  dismissReports,
  moderateContent,
  moderationErrors,
  reasonInput,
} from '../../hub/moderation/actions'
import { selectTarget } from '../../hub/moderation/queries'
import { selectMayModerateThread } from '../../hub/moderation/queue-queries'
import { moderationLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { contentPath, postPath } from '../../shared/paths'
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
import { readForm } from '../frame/read-form'
import { toLocalPath } from '../frame/requests'
import { type PageContext, readPage, sendPage } from '../frame/send-page'
import { TextLink } from '../parts/links'

interface ModeratePageProps extends Omit<ModerateFormProps, 'of' | 'isOpen'> {
  frame: Frame
  communityName: string
  form: ModerateFormState
}

/** The page with the form of a moderator about one text; after a rejection with what was typed. */
const ModeratePage: FC<ModeratePageProps> = ({ frame, communityName, ...props }) => {
  const { postId, commentId, authorName, form } = props
  const noun = commentId === null ? 'post' : 'comment'
  return (
    <Layout frame={frame} title={`Moderate a ${noun}`}>
      <h1>Moderate a {noun}</h1>
      <p class="lede">
        By <TextLink href={contentPath(postId, commentId)}>{authorName}</TextLink> in m/
        {communityName}.
      </p>
      <ErrorSummary problem={form.problem} />
      <ModerateForm {...props} of={`the ${noun} by ${authorName}`} isOpen />
    </Layout>
  )
}

/** Days after which a mute or a ban ends; an empty value never ends by itself. */
const banDays = { '1': '1 day', '7': '1 week', '30': '30 days', '': 'Until lifted' } as const

type ModerateField = 'reason' | 'days' | 'action' | 'comment_id' | 'report_id' | 'next'
type ModerateFormState = FormState<ModerateField>

/** The form of a moderator's action. */
const moderateForm: FormDefinition<ModerateField> = {
  rejected: 'Nothing was done.',
  fields: {
    reason: { message: describeText('The reason', moderationLimits.reasonCharsMax) },
    days: { message: 'Choose how long.' },
    action: { message: 'Choose an action.' },
    comment_id: {},
    report_id: {},
    next: { path: null },
  },
}

interface ModerateFormProps {
  postId: string
  /** Null for the post itself. */
  commentId: string | null
  /** What it is about, for screen readers, such as `the reply by mira`. */
  of: string
  authorName: string
  isRemoved: boolean
  /** Of a post. */
  isLocked?: boolean
  /** Of a post. */
  isPinned?: boolean
  /** Path to return to. */
  next: string
  /** Set in the queue: the report that dismissing closes. */
  reportId?: string
  isOpen?: boolean
  /** The form that was sent and rejected. */
  form?: ModerateFormState
}

const newForm = createForm<ModerateField>({
  reason: '',
  days: '7',
  action: '',
  comment_id: '',
  report_id: '',
  next: '',
})

/** The actions of a moderator on a post or a comment, in the queue and on a page of their own: a disclosure with a reason and buttons. */
export const ModerateForm: FC<ModerateFormProps> = (props) => {
  const { postId, commentId, of, authorName, reportId, form = newForm } = props
  const key = commentId ?? postId
  return (
    <details class="moderate" open={props.isOpen}>
      <summary>
        Moderate<span class="vh"> {of}</span>
      </summary>
      <form class="form up2" method="post" action={`${postPath(postId)}/moderate`}>
        {commentId !== null && <input type="hidden" name="comment_id" value={commentId} />}
        {reportId !== undefined && <input type="hidden" name="report_id" value={reportId} />}
        <input type="hidden" name="next" value={props.next} />
        <Field
          form={form}
          name="reason"
          id={`reason-${key}`}
          label="Reason"
          hint={`${authorName} and everybody who can read the thread see the reason.`}
          required
          maxlength={moderationLimits.reasonCharsMax}
          autocomplete="off"
        />
        <div class="acts">
          {listButtons(props).map(([value, label]) => (
            <Submit name="action" value={value}>
              {label}
            </Submit>
          ))}
        </div>
        <Field
          form={form}
          as="select"
          name="days"
          id={`days-${key}`}
          label="Mute or ban for"
          options={banDays}
        />
        <div class="acts">
          <Submit name="action" value="mute">
            Mute {authorName}
          </Submit>
          <Submit name="action" value="ban">
            Ban {authorName}
          </Submit>
        </div>
      </form>
    </details>
  )
}

function listButtons(props: ModerateFormProps): [action: string, label: string][] {
  const { commentId, isRemoved, isLocked, isPinned, reportId } = props
  const noun = commentId === null ? 'post' : 'reply'
  const ofThread: [string, string][] =
    commentId !== null || isRemoved || isLocked === undefined
      ? []
      : [
          isLocked ? ['unlock', 'Unlock thread'] : ['lock', 'Lock thread'],
          isPinned ? ['unpin', 'Unpin post'] : ['pin', 'Pin post'],
        ]
  return [
    isRemoved ? ['restore', `Restore ${noun}`] : ['remove', `Remove ${noun}`],
    ...ofThread,
    ...(reportId === undefined ? [] : [['dismiss', 'Dismiss reports'] satisfies [string, string]]),
  ]
}

const dayMs = 86_400_000
const contentActions = ['remove', 'restore', 'lock', 'unlock', 'pin', 'unpin'] as const

const moderateInput = reasonInput.extend({
  action: z.enum([...contentActions, 'mute', 'ban', 'dismiss']),
  comment_id: z.string().max(100),
  report_id: z.string().max(100),
  days: z.enum(Object.keys(banDays) as (keyof typeof banDays)[]),
})

type ModerateInput = z.output<typeof moderateInput>

const isContentAction = (action: string): action is (typeof contentActions)[number] =>
  contentActions.some((each) => each === action)

const findRef = (c: PageContext, commentId: string): ContentRef =>
  commentId ? { kind: 'comment', id: commentId } : { kind: 'post', id: c.req.param('id') ?? '' }

/**
 * Does what a button of `ModerateForm` says, and redirects to where the form was. A rejected form is shown
 * again with the reason that was typed.
 */
export async function moderateByForm(c: PageContext): Promise<Response> {
  const form = await readForm(c)
  const read = readFormWith(moderateInput, form, moderateForm)
  const viewer = await requireViewer(c, 'write')
  if (!read.isValid) return showModerateForm(c, read.form, 400)
  try {
    await moderate(c, toActor(viewer, null), read.value)
  } catch (error) {
    const { form: rejected, status } = rejectForm(moderateForm, read.form, error)
    if (status === 403 || status === 404) throw error
    return showModerateForm(c, rejected, status)
  }
  return c.redirect(toLocalPath(form('next')), 303)
}

async function moderate(c: PageContext, actor: Actor, input: ModerateInput): Promise<void> {
  const { context } = c.var
  const { action, reason, comment_id, report_id, days } = input
  const on = findRef(c, comment_id)
  if (isContentAction(action)) {
    await moderateContent(context, actor, on, action, { reason })
  } else if (action === 'dismiss') {
    await dismissReports(context, actor, report_id, { reason })
  } else {
    const target = await run(context.db, selectTarget(on.kind, on.id, await readReader(c)))
    if (!target) throw moderationErrors.unknownTarget(on.kind)
    const end = days === '' ? null : context.clock.now() + Number(days) * dayMs
    const ends_at = end === null ? null : new Date(end).toISOString()
    const ban = { account: target.author.name, kind: action, reason, ends_at }
    await banAccount(context, actor, target.community.name, ban)
  }
}

/** Shows the form about a post, or the comment of it that the query names. */
export async function showModeratePage(c: PageContext): Promise<Response> {
  if (!(await readCredential(c))) await requireViewer(c, 'read')
  const commentId = c.req.query('comment') ?? ''
  const next = contentPath(c.req.param('id') ?? '', commentId || null)
  const { typed, ...rest } = newForm
  return showModerateForm(c, { ...rest, typed: { ...typed, comment_id: commentId, next } }, 200)
}

/** @throws NOT_FOUND, FORBIDDEN for an account that does not moderate there */
async function showModerateForm(
  c: PageContext,
  form: ModerateFormState,
  status: number,
): Promise<Response> {
  const { comment_id, report_id, next } = form.typed
  const on = findRef(c, comment_id)
  const credential = await readCredential(c)
  const { frame, answers } = await readPage(c, {
    target: selectTarget(on.kind, on.id, await readReader(c)),
    mayModerate: selectMayModerateThread(
      credential,
      c.var.context.clock.now(),
      c.req.param('id') ?? '',
    ),
  })
  const { target, mayModerate } = answers
  // a session that has ended reads as nobody does
  if (!frame.viewer) await requireViewer(c, 'read')
  if (!target || target.isDeleted) throw moderationErrors.unknownTarget(on.kind)
  if (!mayModerate) throw moderationErrors.forbidden()
  return sendPage(
    c,
    <ModeratePage
      frame={frame}
      {...target}
      authorName={target.author.name}
      communityName={target.community.name}
      isRemoved={target.removalId !== null}
      next={toLocalPath(next)}
      {...(report_id !== '' && { reportId: report_id })}
      form={form}
    />,
    status,
  )
}
