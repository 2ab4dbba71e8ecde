import {
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js'
import type { OAuthMetadata } from '@modelcontextprotocol/sdk/shared/auth.js'
import { checkResourceAllowed } from '@modelcontextprotocol/sdk/shared/auth-utils.js'
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js'
import { connectErrors } from './errors'
import { explainFailure } from './explain-failure'
import type { AuthorizationServer } from './grant'
import { createOauthFetch, type OauthLink } from './oauth-fetch'

export interface Discovered extends AuthorizationServer {
  /** The scopes to ask for; null: the server's default. */
  scope: string | null
  /** Whether answers name the issuer (RFC 9207). */
  namesIssuer: boolean
}

/**
 * Finds the authorization server of a remote server: by its refusal of a request without a token, its
 * metadata (RFC 9728), and that of the authorization server (RFC 8414).
 *
 * @throws UNAVAILABLE, FORBIDDEN for an address that is not allowed
 */
export async function discover(link: OauthLink): Promise<Discovered> {
  const { name, baseUrl } = link.service
  const fetchFn = createOauthFetch(link)
  const hints = extractWWWAuthenticateParams(await sendWithoutToken(fetchFn, baseUrl))
  const { resourceMetadataUrl } = hints
  const found = await discoverOAuthServerInfo(baseUrl, {
    fetchFn,
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
  }).catch((error: unknown) => {
    throw explainFailure(name, error)
  })
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = found
  if (!authorizationServerMetadata) throw connectErrors.noOauth(name)
  checkServer(name, authorizationServerUrl, authorizationServerMetadata)
  const resource = resourceMetadata?.resource ?? null
  if (
    resource !== null &&
    !checkResourceAllowed({ requestedResource: baseUrl, configuredResource: resource })
  ) {
    throw connectErrors.otherResource(name)
  }
  const scopes = resourceMetadata?.scopes_supported ?? []
  return {
    metadata: toMetadata(authorizationServerMetadata),
    resource,
    scope: hints.scope ?? (scopes.length > 0 ? scopes.join(' ') : null),
    namesIssuer:
      Reflect.get(authorizationServerMetadata, 'authorization_response_iss_parameter_supported') ===
      true,
  }
}

const sendWithoutToken = (fetchFn: FetchLike, baseUrl: string): Promise<Response> =>
  fetchFn(baseUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': LATEST_PROTOCOL_VERSION,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }),
  })

/** A server must not describe another one, and must bind a code to who started (OAuth 2.1). */
function checkServer(service: string, url: string | URL, metadata: OAuthMetadata): void {
  const isSame = withoutSlash(String(url)) === withoutSlash(metadata.issuer)
  if (!isSame) throw connectErrors.otherIssuer(service)
  if (!metadata.code_challenge_methods_supported?.includes('S256')) {
    throw connectErrors.noPkce(service)
  }
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '')

/** Returns the part of the metadata that is used. */
const toMetadata = ({
  issuer,
  authorization_endpoint,
  token_endpoint,
  registration_endpoint,
  revocation_endpoint,
  response_types_supported,
  code_challenge_methods_supported,
  token_endpoint_auth_methods_supported,
}: OAuthMetadata): OAuthMetadata => ({
  issuer,
  authorization_endpoint,
  token_endpoint,
  registration_endpoint,
  revocation_endpoint,
  response_types_supported,
  code_challenge_methods_supported,
  token_endpoint_auth_methods_supported,
})
