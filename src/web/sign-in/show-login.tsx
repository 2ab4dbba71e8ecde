import { toAppError } from '../../hub/http/page-entry'
import { listProviders } from '../../hub/identities/providers'
import { toRpId } from '../../hub/passkeys/actions'
import { selectHasMovedPasskeys } from '../../hub/passkeys/queries'
import { run } from '../../shared/db/batch'
import { createForm } from '../form/form-state'
import { rejectForm } from '../form/reject-form'
import { createFrame } from '../frame/create-frame'
import { findBrowserOrigin } from '../frame/own-origin'
import { type PageContext, sendPage } from '../frame/send-page'
import { type LoginFormState, LoginPage, loginForm } from './login-page'

/** Renders the sign-in page. It shows nothing of the hub, because a private hub shows it to anybody. */
export async function showLogin(
  c: PageContext,
  form: LoginFormState,
  status = 200,
): Promise<Response> {
  const { settings, db } = c.var.context
  const origins = [...(settings.ROOKERY_ORIGIN ?? []), findBrowserOrigin(c)]
  const hasMoved = await run(db, selectHasMovedPasskeys(origins.map(toRpId)))
  const providers = listProviders(settings)
  const props = { frame: createFrame(c), form, providers, hasMoved }
  return sendPage(c, <LoginPage {...props} />, status)
}

/** Renders the sign-in page after a refused attempt. */
export function showRefusal(
  c: PageContext,
  error: unknown,
  { next, field }: { next: string; field?: 'key' },
): Promise<Response> {
  const form = createForm({ key: '', next })
  const { code, status, message, hint } = toAppError(error)
  // rejectForm reports UNAUTHORIZED as an ended session; here it is a refused key, link or passkey
  if (code !== 'UNAUTHORIZED') {
    return showLogin(c, rejectForm(loginForm, form, error).form, status)
  }
  const errors = field ? { [field]: message } : {}
  return showLogin(c, { ...form, errors, problem: { message, hint } }, status)
}
