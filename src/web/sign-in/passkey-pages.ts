import type { Hono } from 'hono'
import {
  type EntryRule,
  type HubEnv,
  requireSameOrigin,
  toErrorResponse,
} from '../../hub/http/page-entry'
import { signInWithPasskey, startPasskeySignIn, usePasskeyInput } from '../../hub/passkeys/actions'
import { findSite } from '../frame/own-origin'
import { readForm } from '../frame/read-form'
import { type PageContext, page } from '../frame/send-page'
import { toLocalPath } from '../frame/to-local-path'
import { findDevice, redirectSignedIn } from './redirect-signed-in'
import { showRefusal } from './show-login'

const attemptRule: EntryRule = {
  rate: 'signIn',
  body: 'secret',
  async shows(c) {
    const parsed = usePasskeyInput.safeParse({ response: (await readForm(c))('response') })
    return parsed.data?.response.id
  },
}

/** Registers `POST /login/passkey` and the challenge that its script asks for. */
export function registerPasskeySignIn(app: Hono<HubEnv>): void {
  app.post(
    '/login/passkey/options',
    page(async (c) => {
      try {
        requireSameOrigin(c)
        return c.json(await startPasskeySignIn(c.var.context, findSite(c)))
      } catch (error) {
        return toErrorResponse(c, error)
      }
    }),
  )
  app.post('/login/passkey', page(sendPasskey, attemptRule))
}

async function sendPasskey(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const read = await readForm(c)
  const next = toLocalPath(read('next'))
  try {
    const input = usePasskeyInput.parse({ response: read('response') })
    const session = await signInWithPasskey(c.var.context, findSite(c), input, findDevice(c))
    return redirectSignedIn(c, session, next)
  } catch (error) {
    return showRefusal(c, error, { next })
  }
}
