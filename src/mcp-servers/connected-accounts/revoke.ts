import { selectClientAuthMethod } from '@modelcontextprotocol/sdk/client/auth.js'
import type { Grant } from './grant'
import { createOauthFetch, type OauthLink } from './oauth-fetch'

/**
 * Revokes the tokens of a grant at its authorization server (RFC 7009). Never throws.
 *
 * @returns false when the server has no revocation endpoint, or did not answer that it has revoked them
 */
export async function revokeGrant(link: OauthLink, grant: Grant): Promise<boolean> {
  const { revocation_endpoint: url } = grant.metadata
  if (!url) return false
  const send = createOauthFetch(link)
  const revoke = async (token: string, kind: string): Promise<boolean> => {
    const form = new URLSearchParams({ token, token_type_hint: kind })
    const headers = authenticate(grant, form)
    const { ok } = await send(url, { method: 'POST', headers, body: form.toString() })
    return ok
  }
  try {
    const { refreshToken, accessToken } = grant
    const first = refreshToken === null || (await revoke(refreshToken, 'refresh_token'))
    return (await revoke(accessToken, 'access_token')) && first
  } catch {
    return false
  }
}

/** Returns the headers of a request, and adds to its form how the hub shows who it is. */
function authenticate({ client, metadata }: Grant, form: URLSearchParams): Record<string, string> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { client_id: id, client_secret: secret = '' } = client
  const methods = metadata.token_endpoint_auth_methods_supported ?? []
  if (selectClientAuthMethod(client, methods) === 'client_secret_basic') {
    return { ...headers, authorization: `Basic ${btoa(`${id}:${secret}`)}` }
  }
  form.set('client_id', id)
  if (secret !== '') form.set('client_secret', secret)
  return headers
}
