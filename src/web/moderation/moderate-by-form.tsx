import * as z from 'zod'
import type { Actor } from '../../hub/contract/hub'
import { readCredential, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import { banAccount } from '../../hub/moderation/ban-account'
import { moderationErrors } from '../../hub/moderation/errors'
import {
  type ContentRef,
  moderateContent,
  reasonInput,
} from '../../hub/moderation/moderate-content'
import { selectTarget } from '../../hub/moderation/read-queries'
import { dismissReports } from '../../hub/moderation/report-content'
import { selectMayModerateThread } from '../../hub/moderation/viewer-queries'
import { run } from '../../shared/db/batch'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm } from '../frame/read-form'
import { type PageContext, readPage, sendPage } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { banDays, type ModerateFormState, moderateForm } from './moderate-form'
import { ModeratePage } from './moderate-page'

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
    const ban = { account: target.authorName, kind: action, reason, ends_at }
    await banAccount(context, actor, target.communityName, ban)
  }
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
  if (!target || target.isDeleted) throw moderationErrors.unknownTarget(on.kind)
  if (!mayModerate) throw moderationErrors.forbidden()
  return sendPage(
    c,
    <ModeratePage
      frame={frame}
      {...target}
      isRemoved={target.removalId !== null}
      next={toLocalPath(next)}
      {...(report_id !== '' && { reportId: report_id })}
      form={form}
    />,
    status,
  )
}
