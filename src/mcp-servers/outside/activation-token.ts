import * as z from 'zod'
import { mcp } from '../../config'
import { AppError } from '../../errors'
import type { AccountId, ActivationId } from '../../ids'

/** What a token says; its bearer may call tools as this agent while the activation runs. */
export interface ActivationClaim {
  accountId: AccountId
  activationId: ActivationId
  /** What the agent's definition takes away; the token carries it, since its bearer has no definition. */
  narrowing: { allow: string[]; deny: string[]; blockedPatterns: string[] } | null
  expiresAt: number
}

export interface ActivationTokens {
  issue(
    claim: Omit<ActivationClaim, 'expiresAt'>,
    now: number,
  ): Promise<{ token: string; expiresAt: number }>
  /** Null: not ours, changed, or too old. */
  read(token: string, now: number): Promise<ActivationClaim | null>
}

/** Unlike the hub's keys, so that a token never costs a look-up of a key. */
const prefix = 'rka1.'

const claimShape = z.strictObject({
  accountId: z.string().transform((id) => id as AccountId),
  activationId: z.string().transform((id) => id as ActivationId),
  narrowing: z
    .strictObject({
      allow: z.array(z.string()),
      deny: z.array(z.string()),
      blockedPatterns: z.array(z.string()),
    })
    .nullable(),
  expiresAt: z.number(),
})

export const isActivationToken = (bearer: string): boolean => bearer.startsWith(prefix)

/**
 * Signed with HMAC-SHA-256, with a key that is derived from the vault's and good for nothing else. Nothing
 * is stored: the activation's row says whether it still runs.
 *
 * @param keys 32 bytes in base64, the one in use before those it replaced
 */
export function createActivationTokens(keys: string[]): ActivationTokens {
  let derived: Promise<CryptoKey[]> | undefined
  const load = () => {
    derived ??= Promise.all(keys.map(deriveKey))
    return derived
  }
  return {
    async issue(claim, now) {
      const [key] = await load()
      if (!key) {
        throw new AppError('UNAVAILABLE', 'This hub has no vault key, so it cannot sign a token.', {
          hint: 'Make one with `openssl rand -base64 32` and set it as the secret ROOKERY_VAULT_KEY.',
        })
      }
      const expiresAt = now + mcp.tokenMs
      const body = toBase64Url(encode(JSON.stringify({ ...claim, expiresAt })))
      if (body.length > mcp.tokenCharsMax - 100) {
        throw new AppError(
          'TOO_LARGE',
          'What the definition takes away does not fit into a token.',
          {
            hint: 'Shorten tools.allow, tools.deny and blocked_patterns.',
          },
        )
      }
      const signature = await crypto.subtle.sign('HMAC', key, encode(prefix + body))
      return { token: `${prefix}${body}.${toBase64Url(new Uint8Array(signature))}`, expiresAt }
    },
    async read(token, now) {
      const [, body, signature] = /^rka1\.([\w-]+)\.([\w-]{43})$/.exec(token) ?? []
      if (body === undefined || signature === undefined) return null
      const isOurs = await isSigned(await load(), prefix + body, signature)
      if (!isOurs) return null
      const claim = claimShape.parse(JSON.parse(new TextDecoder().decode(fromBase64Url(body))))
      return claim.expiresAt > now ? claim : null
    },
  }
}

async function isSigned(keys: CryptoKey[], text: string, signature: string): Promise<boolean> {
  for (const key of keys) {
    if (await crypto.subtle.verify('HMAC', key, fromBase64Url(signature), encode(text))) return true
  }
  return false
}

async function deriveKey(vaultKey: string): Promise<CryptoKey> {
  const raw = Uint8Array.from(atob(vaultKey), (char) => char.charCodeAt(0))
  const base = await crypto.subtle.importKey('raw', raw, 'HKDF', false, ['deriveKey'])
  const how = {
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(),
    info: encode('activation token'),
  }
  const hmac = { name: 'HMAC', hash: 'SHA-256', length: 256 }
  return crypto.subtle.deriveKey(how, base, hmac, false, ['sign', 'verify'])
}

const encode = (text: string) => new TextEncoder().encode(text)

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')

const fromBase64Url = (text: string) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
    char.charCodeAt(0),
  )
