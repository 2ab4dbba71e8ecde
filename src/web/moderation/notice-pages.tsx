import type { Hono } from 'hono'
import * as z from 'zod'
import { appealBan, banAppealInput, decideBanAppeal } from '../../hub/ban-appeals/actions'
import { selectOwnBans } from '../../hub/ban-appeals/queries'
import {
  type HubEnv,
  readCredential,
  requireAdminViewer,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import { decisionInput } from '../../hub/moderation/appeal-action'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { type BanAppealFormState, banAppealForm, NoticePage } from './notice-page'

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
