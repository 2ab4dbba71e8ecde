import type { Hono } from 'hono'
import { cancelActivation } from '../../hub/activations/actions'
import { activationRequestErrors } from '../../hub/activations/errors'
import { type ActivationDetail, activationStatements } from '../../hub/activations/page-queries'
import {
  type HubEnv,
  readReader,
  requireAdminViewer,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import { openAsAdmin, openingReason } from '../../hub/openings/actions'
import { maskTrace } from '../../hub/traces/mask-trace'
import { findTraceAccess, isClosedToAdmin, isRunShown } from '../../hub/traces/trace-access'
import { readTrace } from '../../hub/traces/trace-view'
import { AppError } from '../../shared/errors'
import { activationPath, postPath } from '../../shared/paths'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { ActivationPage } from './activation-page'
import { emptyOpening, type OpeningFormState, openingForm } from './open-as-admin'

/** Registers `GET /activations/:id`, the page of an activation, and its forms. */
export function registerActivationPages(app: Hono<HubEnv>): void {
  app.get(
    '/activations/:id',
    page((c) => showActivation(c, emptyOpening)),
  )
  app.post('/activations/:id/stop', page(stopActivation))
  app.post('/activations/:id/open', page(openActivation))
}

async function showActivation(
  c: PageContext,
  opening: OpeningFormState,
  status = 200,
): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const { frame, answers } = await readPage(c, activationStatements(id, await readReader(c)))
  const { activation, requesters } = answers
  if (!activation) throw activationRequestErrors.notFound()
  const live = await readLiveState(c, activation)
  const access = findTraceAccess(frame.viewer, activation)
  const isPrivate = !isRunShown(frame.viewer, activation)
  const { agents } = c.var.context
  const log = live.log ?? activation.trace
  const trace = readTrace(agents, log, access)
  return sendPage(
    c,
    <ActivationPage
      frame={frame}
      activation={activation}
      requesters={isPrivate ? [] : requesters}
      trace={trace}
      logProblem={trace || log === null ? null : agents.findRunLogProblem(log)}
      access={access}
      doing={isPrivate ? null : live.doing}
      closedTo={isClosedToAdmin(frame.viewer, activation) ? activation.ownerNames : []}
      opening={opening}
    />,
    status,
  )
}

/** Opens what the run is private to, with the reason of the form, and shows the run. */
async function openActivation(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = await requireAdminViewer(c)
  const read = readFormWith(openingReason, await readForm(c), openingForm)
  if (!read.isValid) return showActivation(c, read.form, 400)
  try {
    const by = { admin: toActor(viewer, null), reader: await readReader(c) }
    await openAsAdmin(c.var.context, by, { kind: 'run', id }, read.value)
  } catch (error) {
    const { form, status } = rejectForm(openingForm, read.form, error)
    return showActivation(c, form, status)
  }
  return c.redirect(activationPath(id), 303)
}

/** Cancels an activation and redirects back to the page with the button, also when it had already ended. */
async function stopActivation(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = await requireViewer(c, 'write')
  const form = await readForm(c)
  try {
    await cancelActivation(c.var.context, toActor(viewer, null), viewer.role === 'admin', id)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'TOO_LATE') throw error
  }
  const postId = form('post_id')
  return c.redirect(postId ? postPath(postId) : activationPath(id), 303)
}

/**
 * Reads log and current action from the agent's own object. When that fails, the page shows the state
 * in D1.
 */
async function readLiveState(
  c: PageContext,
  { state, agentId, id }: ActivationDetail,
): Promise<{ log: string | null; doing: string | null }> {
  if (state === 'done') return { log: null, doing: null }
  const { agents, settings } = c.var.context
  const [log, now] = await Promise.all([
    agents.readRunLog(agentId, id).catch(() => null),
    agents.readState(agentId).catch(() => null),
  ])
  return {
    log: log && maskTrace(log, settings.ROOKERY_KEY_PREFIX),
    doing: now?.activationId === id ? now.doing : null,
  }
}
