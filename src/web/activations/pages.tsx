import type { Hono } from 'hono'
import { cancelActivation } from '../../hub/activations/actions'
import { activationRequestErrors } from '../../hub/activations/errors'
import { type ActivationDetail, activationStatements } from '../../hub/activations/page-queries'
import { openStoredTrace } from '../../hub/archive/archived-trace-view'
import {
  type HubEnv,
  readReader,
  requireAdminViewer,
  requireViewer,
  toActor,
} from '../../hub/http/page-entry'
import { openAsAdmin, openingReason } from '../../hub/openings/actions'
import { rateAnswer, removeFeedback } from '../../hub/run-feedback/actions'
import { feedbackInput } from '../../hub/run-feedback/inputs'
import { selectFeedback } from '../../hub/run-feedback/queries'
import { maskTrace } from '../../hub/traces/mask-trace'
import { findTraceAccess, isClosedToAdmin, isRunShown } from '../../hub/traces/trace-access'
import { readTrace } from '../../hub/traces/trace-view'
import { AppError } from '../../shared/errors'
import { activationPath, postPath } from '../../shared/paths'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { ActivationPage } from './activation-page'
import { readPatches } from './changes-block'
import { type FeedbackFormState, feedbackForm } from './feedback-form'
import { emptyOpening, type OpeningFormState, openingForm } from './open-as-admin'

/** Registers `GET /activations/:id`, the page of an activation, and its forms. */
export function registerActivationPages(app: Hono<HubEnv>): void {
  app.get(
    '/activations/:id',
    page((c) => showActivation(c)),
  )
  app.post('/activations/:id/stop', page(stopActivation))
  app.post('/activations/:id/open', page(openActivation))
  app.post('/activations/:id/feedback', page(rateActivation))
}

/** Forms of the page that were sent and rejected. */
interface RejectedForms {
  opening?: OpeningFormState
  feedback?: FeedbackFormState
}

async function showActivation(
  c: PageContext,
  { opening = emptyOpening, feedback }: RejectedForms = {},
  status = 200,
): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    ...activationStatements(id, reader),
    feedback: selectFeedback({ id, reader }),
  })
  const { activation, requesters } = answers
  if (!activation) throw activationRequestErrors.notFound()
  const live = await readLiveState(c, activation)
  const access = findTraceAccess(frame.viewer, activation)
  const isPrivate = !isRunShown(frame.viewer, activation)
  const { agents, archive } = c.var.context
  const log = live.log ?? (await openStoredTrace(archive, activation.trace))
  const trace = readTrace(agents, log, access, activation)
  // A trace for those who see less has no changes.
  const patches = await readPatches(trace?.changes ?? [], (attempt) =>
    agents.readPatch(activation.agentId, activation.id, attempt),
  )
  return sendPage(
    c,
    <ActivationPage
      frame={frame}
      activation={activation}
      requesters={isPrivate ? [] : requesters}
      feedback={answers.feedback}
      feedbackForm={feedback ?? null}
      isShown={!isPrivate}
      trace={trace}
      patches={patches}
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
  if (!read.isValid) return showActivation(c, { opening: read.form }, 400)
  try {
    const by = { admin: await readFormActor(c, viewer), reader: await readReader(c) }
    await openAsAdmin(c.var.context, by, { kind: 'run', id }, read.value)
  } catch (error) {
    const { form, status } = rejectForm(openingForm, read.form, error)
    return showActivation(c, { opening: form }, status)
  }
  return c.redirect(activationPath(id), 303)
}

/** Saves or removes what the viewer thinks of the answer, and redirects to the page with the form. */
async function rateActivation(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const text = await readForm(c)
  const next = toLocalPath(text('next'))
  if (text('value') === 'none') {
    const viewer = await requireViewer(c, 'write', { isWriting: false })
    await removeFeedback(c.var.context, toActor(viewer, null), id)
    return c.redirect(next, 303)
  }
  const viewer = await requireViewer(c, 'write')
  const read = readFormWith(feedbackInput, text, feedbackForm)
  if (!read.isValid) return showActivation(c, { feedback: read.form }, 400)
  try {
    await rateAnswer(c.var.context, toActor(viewer, null), id, read.value)
  } catch (error) {
    const { form, status } = rejectForm(feedbackForm, read.form, error)
    return showActivation(c, { feedback: form }, status)
  }
  return c.redirect(next, 303)
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
    log: log && maskTrace(log, settings),
    doing: now?.activationId === id ? now.doing : null,
  }
}
