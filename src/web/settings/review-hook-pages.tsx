import type { Hono } from 'hono'
import { type HubEnv, requireViewer } from '../../hub/http/page-entry'
import { createReviewHook, removeReviewHook, reviewHookInput } from '../../hub/review-hooks/actions'
import { reviewHookErrors } from '../../hub/review-hooks/errors'
import { selectReviewHooks } from '../../hub/review-hooks/queries'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  settingsPage,
} from './require-sign-in'
import {
  type CreatedReviewHook,
  DeleteReviewHookPage,
  type ReviewHookFormState,
  ReviewHooksPage,
  reviewHookForm,
  reviewHooksPath,
} from './review-hooks-page'

const deletePath = `${reviewHooksPath}/:id/delete`
const emptyForm = (): ReviewHookFormState => createForm({ agent: '' })

/** Registers `/settings/review-hooks`: where the viewer's reviews on GitHub reach agents. */
export function registerReviewHookSettings(app: Hono<HubEnv>): void {
  app.get(
    reviewHooksPath,
    settingsPage((c) => showHooks(c, { form: emptyForm() })),
  )
  app.post(reviewHooksPath, page(addHook))
  app.get(deletePath, settingsPage(askToDelete))
  app.post(
    deletePath,
    page(async (c) => {
      // As in the API, also for who is muted: it says nothing to anybody.
      const { id } = await requireViewer(c, 'write', { isWriting: false })
      await removeReviewHook(c.var.context, { accountId: id }, idOf(c))
      return c.redirect(reviewHooksPath, 303)
    }),
  )
}

const idOf = (c: PageContext): string => c.req.param('id') ?? ''

/** Creates a hook and shows its secret in the response: a redirect would put it into the browser's history. */
async function addHook(c: PageContext): Promise<Response> {
  const read = readFormWith(reviewHookInput, await readForm(c), reviewHookForm)
  try {
    const viewer = await requireReadingSender(c)
    if (!read.isValid) return showHooks(c, { form: read.form, status: 400 })
    const actor = await readFormActor(c, viewer)
    const { answer } = await createReviewHook(c.var.context, actor, viewer, read.value)
    return showHooks(c, { form: emptyForm(), created: answer })
  } catch (error) {
    return showHooks(c, rejectForm(reviewHookForm, read.form, error))
  }
}

interface Shown {
  form: ReviewHookFormState
  created?: CreatedReviewHook
  status?: number
}

async function showHooks(c: PageContext, { form, created, status }: Shown): Promise<Response> {
  const { frame, hooks } = await readHooks(c)
  const props = { frame, form, hooks, created: created ?? null, origin: c.var.origin }
  return sendPage(c, <ReviewHooksPage {...props} />, status)
}

async function askToDelete(c: PageContext): Promise<Response> {
  const { frame, hooks } = await readHooks(c)
  const hook = hooks.find(({ id }) => id === idOf(c))
  if (!hook) throw reviewHookErrors.notFound()
  return sendPage(c, <DeleteReviewHookPage frame={frame} hook={hook} />)
}

async function readHooks(c: PageContext) {
  const credential = await requireCredential(c)
  const { frame, answers } = await readPage(c, {
    hooks: selectReviewHooks(credential, c.var.context.clock.now()),
  })
  assertSignedIn(frame)
  return { frame, hooks: answers.hooks }
}
