import { connectedAccounts } from '../../shared/config'
import { type Reach, toHost } from '../fetch/check-url'
import { createGuardedFetch, type Resolve } from '../fetch/guarded-fetch'
import type { ServiceRow } from '../services/queries'

/** The remote server whose authorization server is asked. */
export interface OauthLink {
  service: ServiceRow
  isPrivateAllowed: boolean
  resolve?: Resolve | undefined
  signal: AbortSignal
}

/**
 * Returns what a URL that a server named is allowed to be: a public one over https. What an admin allowed
 * for the service holds for its own hosts only.
 */
export function toOauthReach({ service, isPrivateAllowed }: OauthLink, url: URL): Reach {
  const host = toHost(url)
  const isDeclared = service.hosts.includes(host)
  return {
    hosts: [host],
    allowHttp: isDeclared && service.allowHttp,
    allowPrivate: isDeclared && service.allowPrivate && isPrivateAllowed,
  }
}

/** Adapts the guarded fetch to the SDK's functions for OAuth. */
export const createOauthFetch =
  (link: OauthLink) =>
  async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input)
    const { body } = init
    const send = createGuardedFetch({
      ...{ service: link.service.name, reach: toOauthReach(link, url) },
      // Requests have codes, tokens or secrets, so redirects to another host are refused.
      hasCredential: true,
      ...{ signal: link.signal, resolve: link.resolve },
      timeoutMs: connectedAccounts.timeoutMs,
    })
    const { status, headers, text } = await send({
      ...{ method: init.method ?? 'GET', url, bytesMax: connectedAccounts.answerBytesMax },
      headers: { 'user-agent': 'Rookery', ...Object.fromEntries(new Headers(init.headers)) },
      ...(body !== undefined && body !== null && { body: String(body) }),
    })
    const hasBody = ![204, 205, 304].includes(status)
    return new Response(hasBody ? text : null, { status, headers })
  }
