import * as z from 'zod'
import { fromBase64Url, toBase64Url } from '../../shared/base64'
import { mcp } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { RunWorkspace } from '../contract/tools'
import { deriveBytes } from '../credentials/cipher'

/** What a token can open: tools, the model gateway, the git proxy. */
export const tokenAudiences = ['mcp', 'models', 'git'] as const
export type TokenAudience = (typeof tokenAudiences)[number]

/** The content of a token. Its bearer acts as this agent while the activation runs. */
export interface ActivationClaim {
  accountId: AccountId
  activationId: ActivationId
  audience: readonly TokenAudience[]
  /** The attempt of a runner that it was issued for; it ends with the attempt. Null: it is for `/mcp` only. */
  attempt: number | null
  /** The tool restrictions of the agent's definition, which the bearer cannot read; null: none. */
  toolRestrictions: {
    allow: string[]
    deny: string[]
    servers: string[]
    blockedPatterns: string[]
  } | null
  /** The repository that the run works on; null or absent: none. */
  workspace?: RunWorkspace | null | undefined
  expiresAt: number
}

export interface ActivationTokens {
  /** @param untilMax when the token ends at the latest; `mcp.tokenMs` after now unless given */
  issue(
    claim: Omit<ActivationClaim, 'expiresAt'>,
    now: number,
    untilMax?: number,
  ): Promise<{ token: string; expiresAt: number }>
  /** Returns the content of a token; null: not signed by this hub, changed, or expired. */
  read(token: string, now: number): Promise<ActivationClaim | null>
}

/** Differs from the prefix of API keys, so that a token needs no key lookup. */
const prefix = 'rka1.'

const claimShape = z.strictObject({
  accountId: z.string().transform((id) => id as AccountId),
  activationId: z.string().transform((id) => id as ActivationId),
  audience: z.array(z.enum(tokenAudiences)),
  attempt: z.int().nullable(),
  toolRestrictions: z
    .strictObject({
      allow: z.array(z.string()),
      deny: z.array(z.string()),
      servers: z.array(z.string()),
      blockedPatterns: z.array(z.string()),
    })
    .nullable(),
  workspace: z.strictObject({ repository: z.string(), push: z.array(z.string()) }).nullish(),
  expiresAt: z.number(),
})

export const isActivationToken = (bearer: string): boolean => bearer.startsWith(prefix)

/**
 * Creates the issuer of activation tokens, signed with HMAC-SHA-256 by a key derived from the vault key.
 * Tokens are not stored; the activation's row shows whether it still runs.
 *
 * @param keys 32 bytes in base64, the current one first
 */
export function createActivationTokens(keys: string[]): ActivationTokens {
  let derived: Promise<CryptoKey[]> | undefined
  const load = () => {
    derived ??= Promise.all(keys.map(deriveKey))
    return derived
  }
  return {
    async issue(claim, now, untilMax = now + mcp.tokenMs) {
      const [key] = await load()
      if (!key) throw callerErrors.noSigningKey()
      const expiresAt = Math.min(untilMax, now + mcp.runTokenMsMax)
      const body = toBase64Url(encode(JSON.stringify({ ...claim, expiresAt })))
      if (body.length > mcp.tokenCharsMax - 100) throw callerErrors.restrictionsTooLarge()
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
  const bytes = await deriveBytes(vaultKey, 'activation token')
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', bytes, hmac, false, ['sign', 'verify'])
}

const encode = (text: string) => new TextEncoder().encode(text)

/** Errors of external callers and their tokens, as users read them. */
export const callerErrors = {
  keyMissing: () =>
    new AppError('UNAUTHORIZED', 'This request requires an API key.', {
      hint: 'Send an admin\'s key as "Authorization: Bearer <key>".',
    }),
  adminOnly: () =>
    new AppError('FORBIDDEN', 'Only an admin can do this.', {
      hint: "The admin's key is ROOKERY_ADMIN_KEY; `npm start` stores it as admin-key in its state directory.",
    }),
  noSigningKey: () =>
    new AppError('UNAVAILABLE', 'This hub has no vault key, so it cannot sign a token.', {
      hint: 'Create a key with `openssl rand -base64 32` and set it as the secret ROOKERY_VAULT_KEY.',
    }),
  restrictionsTooLarge: () =>
    new AppError('TOO_LARGE', "The definition's tool restrictions do not fit into a token.", {
      hint: 'Shorten tools.allow, tools.deny and blocked_patterns.',
    }),
  notRunning: () => notFound('running activation', 'It may have finished or be parked.'),
  definitionUnreadable: (agent: string) =>
    new AppError('UNAVAILABLE', `The definition of ${agent} cannot be read.`),
}
