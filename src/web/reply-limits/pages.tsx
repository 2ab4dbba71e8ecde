import type { Hono } from 'hono'
import { type HubEnv, requireAdminViewer, toActor } from '../../hub/http/page-entry'
import { changeHubLimits, hubLimitsInput } from '../../hub/reply-limits/actions'
import { selectHubLimits } from '../../hub/reply-limits/queries'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { pageErrors } from '../frame/page-errors'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { toLimitTexts } from './limits-form'
import { type LimitsFormState, LimitsPage, limitsForm } from './limits-page'

/** Registers `GET` and `POST /admin/limits`, for admins. */
export function registerReplyLimitPages(app: Hono<HubEnv>): void {
  app.get(
    '/admin/limits',
    page((c) => showLimits(c, null)),
  )
  app.post('/admin/limits', page(changeLimits))
}

async function showLimits(
  c: PageContext,
  form: LimitsFormState | null,
  status = 200,
): Promise<Response> {
  const { frame, answers } = await readPage(c, { limits: selectHubLimits() })
  if (!frame.viewer) throw pageErrors.signInRequired()
  if (!frame.viewer.isAdmin) throw pageErrors.adminRequired()
  const shown = form ?? createForm(toLimitTexts(answers.limits))
  return sendPage(c, <LimitsPage frame={frame} form={shown} />, status)
}

async function changeLimits(c: PageContext): Promise<Response> {
  const read = readFormWith(hubLimitsInput, await readForm(c), limitsForm)
  const viewer = await requireAdminViewer(c)
  if (!read.isValid) return showLimits(c, read.form, 400)
  await changeHubLimits(c.var.context, toActor(viewer, null), read.value)
  return c.redirect('/admin/limits', 303)
}
