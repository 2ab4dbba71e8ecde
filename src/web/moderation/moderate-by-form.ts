import * as z from 'zod'
import { readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import { banAccount } from '../../hub/moderation/ban-account'
import { moderationErrors } from '../../hub/moderation/errors'
import { moderateContent, reasonInput } from '../../hub/moderation/moderate-content'
import { selectTarget } from '../../hub/moderation/read-queries'
import { dismissReports } from '../../hub/moderation/report-content'
import { run } from '../../shared/db/batch'
import { readForm } from '../frame/read-form'
import type { PageContext } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { banDays } from './moderate-form'

const dayMs = 86_400_000
const contentActions = ['remove', 'restore', 'lock', 'unlock', 'pin', 'unpin'] as const

const moderateInput = reasonInput.extend({
  action: z.enum([...contentActions, 'mute', 'ban', 'dismiss']),
  comment_id: z.string().max(100),
  report_id: z.string().max(100),
  days: z.enum(Object.keys(banDays) as (keyof typeof banDays)[]),
})

const isContentAction = (action: string): action is (typeof contentActions)[number] =>
  contentActions.some((each) => each === action)

/** Does what a button of `ModerateForm` says, and redirects to where the form was. */
export async function moderateByForm(c: PageContext): Promise<Response> {
  const form = await readForm(c)
  const viewer = await requireViewer(c, 'write')
  const { context } = c.var
  const { action, reason, comment_id, report_id, days } = moderateInput.parse({
    action: form('action'),
    reason: form('reason'),
    comment_id: form('comment_id'),
    report_id: form('report_id'),
    days: form('days'),
  })
  const actor = toActor(viewer, null)
  const on = comment_id
    ? { kind: 'comment' as const, id: comment_id }
    : { kind: 'post' as const, id: c.req.param('id') ?? '' }
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
  return c.redirect(toLocalPath(form('next')), 303)
}
