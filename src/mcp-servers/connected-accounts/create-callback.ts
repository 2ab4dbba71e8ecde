import type { Sender } from '../../hub/contract/hub'
import { AppError } from '../../shared/errors'
import type { ConnectCallbackPath, ConnectErrorCode } from '../contract/connected-accounts'
import { connectErrors } from './errors'
import { type FinishDeps, finishConnection } from './finish'

export const connectCallbackPath: ConnectCallbackPath = '/connect-callback'

interface CallbackDeps extends FinishDeps {
  /** Reports unexpected errors to the operator. */
  reportFailure: (error: unknown) => void
}

/** Who came back: the account of a browser session. */
export interface ReturningPerson {
  sender: Sender
  sessionHash: string
}

/**
 * Creates the handler of `connectCallbackPath`, where authorization servers send a browser with a code. It
 * is separate from the hub and its pages, so that no code passes through them. It answers with a redirect;
 * after an error to `/settings/connections?error=<code>`, never with text of the request.
 */
export function createConnectCallback(
  deps: CallbackDeps,
): (request: Request, authenticate: () => Promise<ReturningPerson>) => Promise<Response> {
  return async (request, authenticate) => {
    try {
      const { sender, sessionHash } = await authenticate().catch((error: unknown) => {
        throw error instanceof AppError ? connectErrors.expired() : error
      })
      const params = new URL(request.url).searchParams
      return redirect(await finishConnection(deps, { sender, sessionHash, params }))
    } catch (error) {
      if (!(error instanceof AppError)) deps.reportFailure(error)
      return redirect(`/settings/connections?error=${toCode(error)}`)
    }
  }
}

/** The address of the request has the code: it is kept from other pages. */
const redirect = (location: string): Response =>
  new Response(null, {
    status: 303,
    headers: { location, 'referrer-policy': 'no-referrer' },
  })

function toCode(error: unknown): ConnectErrorCode {
  const code = error instanceof AppError ? error.code : 'INTERNAL'
  if (code === 'CONFLICT') return 'EXPIRED'
  return code === 'FORBIDDEN' ? 'DENIED' : 'FAILED'
}
