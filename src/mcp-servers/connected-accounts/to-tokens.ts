import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { outside } from '../../shared/config'
import { secretCharsMin } from '../credentials/scrub'
import { connectErrors } from './errors'

export interface Tokens {
  accessToken: string
  refreshToken: string | null
  /** Null: the server did not say. */
  expiresAt: number | null
  scopes: string
}

/**
 * Checks tokens as a server gave them.
 *
 * @param asked the scopes that were asked for, which are those of an answer without any
 * @throws UNAVAILABLE for tokens that could not be redacted from texts
 */
export function toTokens(
  service: string,
  given: OAuthTokens,
  { asked, now }: { asked: string; now: number },
): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken, token_type: type } = given
  const isUsable = [accessToken, ...(refreshToken ? [refreshToken] : [])].every(isRedactable)
  if (type.toLowerCase() !== 'bearer' || !isUsable) throw connectErrors.unusableToken(service)
  const seconds = given.expires_in
  return {
    accessToken,
    refreshToken: refreshToken || null,
    expiresAt:
      seconds === undefined || !Number.isFinite(seconds) ? null : now + Math.floor(seconds * 1_000),
    scopes: toScopes(given.scope ?? asked),
  }
}

const isRedactable = (token: string): boolean =>
  token.length >= secretCharsMin &&
  token.length <= outside.credentialCharsMax &&
  /^[\x21-\x7e]+$/.test(token)

const scopeCharsMax = 1_000

/** Returns scopes as RFC 6749 writes them, for a list. */
const toScopes = (text: string): string =>
  text
    .slice(0, scopeCharsMax)
    .split(/\s+/)
    .filter((scope) => /^[\x21-\x7e]+$/.test(scope))
    .join(' ')
