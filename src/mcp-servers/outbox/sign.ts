import { fromBase64, toBase64 } from '../../shared/base64'

/** Prefix of the secrets of Standard Webhooks. */
const prefix = 'whsec_'

/** Creates a secret: 32 random bytes in base64 with the prefix. */
export const createSecret = (): string =>
  prefix + toBase64(crypto.getRandomValues(new Uint8Array(32)))

interface SignedContent {
  id: string
  /** Seconds since the Unix epoch. */
  timestamp: number
  body: string
}

/**
 * Returns the headers of a message as the Standard Webhooks specification has them: HMAC-SHA-256 over
 * `id.timestamp.body`, one signature for each secret.
 */
export async function signMessage(
  { id, timestamp, body }: SignedContent,
  secrets: readonly string[],
): Promise<Record<string, string>> {
  const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  const signatures = await Promise.all(secrets.map((secret) => sign(content, secret)))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  }
}

async function sign(content: Uint8Array, secret: string): Promise<string> {
  const bytes = fromBase64(secret.slice(prefix.length))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])
  return toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', key, content)))
}
