import type { Hono } from 'hono'
import {
  type HubEnv,
  requireSession,
  requireViewer,
  toErrorResponse,
} from '../../hub/http/page-entry'
import { unlinkIdentity } from '../../hub/identities/actions'
import { listProviders } from '../../hub/identities/providers'
import { selectOwnIdentities } from '../../hub/identities/queries'
import {
  addPasskey,
  addPasskeyInput,
  removePasskey,
  startAddingPasskey,
  toRpId,
} from '../../hub/passkeys/actions'
import { selectOwnPasskeys } from '../../hub/passkeys/queries'
import { describeDevice } from '../../hub/sign-in/describe-device'
import { selectLinkNotices } from '../../hub/sign-in/queries'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { findBrowserOrigin, findSite } from '../frame/own-origin'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { assertSignedIn, requireCredential, settingsPage } from './require-sign-in'
import { type PasskeyFormState, passkeyForm, SignInSettingsPage } from './sign-in-page'

const path = '/settings/sign-in'

/** Registers `/settings/sign-in`: passkeys and linked accounts of the viewer. */
export function registerSignInSettings(app: Hono<HubEnv>): void {
  app.get(
    path,
    settingsPage((c) => showSignIn(c, null)),
  )
  app.post(`${path}/passkeys/options`, page(sendOptions))
  app.post(`${path}/passkeys`, page(sendPasskey))
  app.post(
    `${path}/passkeys/delete`,
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await removePasskey(c.var.context, viewer.id, (await readForm(c))('id'))
      return c.redirect(path, 303)
    }),
  )
  app.post(
    `${path}/identities/delete`,
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await unlinkIdentity(c.var.context, viewer.id, (await readForm(c))('id'))
      return c.redirect(path, 303)
    }),
  )
}

/** Sends what the script gives to the device. */
async function sendOptions(c: PageContext): Promise<Response> {
  try {
    const { viewer, sessionId } = await requireSession(c)
    const { id, name, displayName } = viewer
    const account = { id, sessionId, name, displayName }
    return c.json(await startAddingPasskey(c.var.context, account, findSite(c)))
  } catch (error) {
    return toErrorResponse(c, error)
  }
}

async function sendPasskey(c: PageContext): Promise<Response> {
  const read = readFormWith(addPasskeyInput, await readForm(c), passkeyForm)
  try {
    const { viewer, sessionId } = await requireSession(c)
    if (!read.isValid) return showSignIn(c, read.form, 400)
    await addPasskey(c.var.context, { id: viewer.id, sessionId }, findSite(c), read.value)
    return c.redirect(path, 303)
  } catch (error) {
    const { form, status } = rejectForm(passkeyForm, read.form, error)
    return showSignIn(c, form, status)
  }
}

/** @param form null: with the name of this device */
async function showSignIn(
  c: PageContext,
  form: PasskeyFormState | null,
  status = 200,
): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    passkeys: selectOwnPasskeys(credential, now),
    identities: selectOwnIdentities(credential, now),
    notices: selectLinkNotices(credential, now),
  })
  assertSignedIn(frame)
  const empty = createForm({ label: describeDevice(c.req.header('user-agent')), response: '' })
  const props = {
    frame,
    ...answers,
    form: form ?? empty,
    rpId: toRpId(findBrowserOrigin(c)),
    providers: listProviders(c.var.context.settings),
  }
  return sendPage(c, <SignInSettingsPage {...props} />, status)
}
