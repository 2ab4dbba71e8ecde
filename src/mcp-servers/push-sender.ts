import { encryptNotification, vapidHeaders } from '@block65/webcrypto-web-push'
import type { PushMessage, PushResult, PushSender, PushTarget } from '../hub/contract/push'
import { fromBase64Url, toBase64Url } from '../shared/base64'
import { pushLimits } from '../shared/config'
import { AppError } from '../shared/errors'
import { deriveBytes } from './credentials/cipher'
import { toHost } from './fetch/check-url'
import { createGuardedFetch, type Resolve } from './fetch/guarded-fetch'

interface PushSenderDeps {
  /** Vault keys, 32 bytes in base64 each, the current one first. */
  vaultKeys: string[]
  /** Origins of the hub; push services reach its operator by the first one with TLS. */
  origins: readonly string[]
  resolve?: Resolve | undefined
}

/**
 * Creates the sender of messages to browsers. A browser names the address to send to, so requests are
 * guarded as those to any external service: HTTPS to public hosts only, and no redirects to others.
 */
export function createPushSender({ vaultKeys, origins, resolve }: PushSenderDeps): PushSender {
  // Derived at first use: most isolates never send a message.
  let derived: Promise<PushKey[]> | undefined
  const readKeys = () => {
    derived ??= Promise.all(vaultKeys.map(derivePushKey))
    return derived
  }
  const subject = origins.find((origin) => origin.startsWith('https:')) ?? 'mailto:admin@localhost'

  async function post(target: PushTarget, key: PushKey, message: PushMessage): Promise<PushResult> {
    const url = new URL(target.endpoint)
    const { endpoint, p256dh, auth } = target
    const subscription = { endpoint, expirationTime: null, keys: { p256dh, auth } }
    const { headers } = await vapidHeaders(subscription, { subject, ...key })
    const body = await encryptNotification(
      subscription,
      new TextEncoder().encode(JSON.stringify(message)),
    )
    const fetch = createGuardedFetch({
      service: 'push service',
      reach: { hosts: [toHost(url)], allowHttp: false, allowPrivate: false },
      hasCredential: true,
      signal: AbortSignal.timeout(pushLimits.timeoutMs),
      resolve,
    })
    const response = await fetch({
      method: 'POST',
      url,
      headers: {
        ...headers,
        ttl: String(pushLimits.keptSeconds),
        urgency: 'normal',
        'content-encoding': 'aes128gcm',
        'content-type': 'application/octet-stream',
      },
      body,
      timeoutMs: pushLimits.timeoutMs,
    })
    return toResult(response.status, response.headers)
  }

  return {
    readPublicKey: async () => (await readKeys())[0]?.publicKey ?? null,
    async send(target, message) {
      const key = (await readKeys()).find(({ publicKey }) => publicKey === target.serverKey)
      if (!key) return refuse('The key of this hub has changed. Add the browser again.')
      try {
        return await post(target, key, message)
      } catch (error) {
        if (error instanceof AppError) return toFailure(error)
        return refuse('The browser gave keys that cannot be used. Add it again.')
      }
    },
  }
}

const refuse = (reason: string): PushResult => ({ kind: 'refused', reason, retryAfterMs: null })

const toFailure = ({ code, message: reason }: AppError): PushResult =>
  code === 'FORBIDDEN' ? refuse(reason) : { kind: 'failed', reason, retryAfterMs: null }

/** Reads the answer of a push service (RFC 8030, section 5). */
function toResult(status: number, headers: Headers): PushResult {
  if (status >= 200 && status < 300) return { kind: 'sent' }
  if (status === 404 || status === 410) return { kind: 'gone' }
  const reason = `The browser's push service answered ${status}.`
  if (status !== 429 && status < 500) return refuse(reason)
  const seconds = Number(headers.get('retry-after') ?? '')
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null
  return { kind: 'failed', reason, retryAfterMs }
}

/** The key pair that signs messages to browsers (ES256, RFC 8292). */
interface PushKey {
  /** Uncompressed point, base64url: what a browser is given. */
  publicKey: string
  /** Scalar, base64url. */
  privateKey: string
}

// A private key on P-256 without its public half (RFC 5915 in PKCS #8): what stands before the 32 bytes.
const pkcs8Head = Uint8Array.from(
  '3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420'.match(/../g) ?? [],
  (hex) => Number.parseInt(hex, 16),
)

/**
 * Derives the key pair of a vault key, so that it is nowhere stored: 32 derived bytes are the private scalar. One in
 * 2^32 is not below the order of the curve; then the next info is taken.
 *
 * @param vaultKey 32 bytes in base64
 */
export async function derivePushKey(vaultKey: string): Promise<PushKey> {
  for (let attempt = 0; attempt < 4; attempt++) {
    const scalar = await deriveBytes(vaultKey, `rookery web push ${attempt}`)
    const key = await importScalar(scalar)
    if (key) return key
  }
  throw new Error('No key could be derived.')
}

async function importScalar(scalar: Uint8Array): Promise<PushKey | null> {
  const bytes = new Uint8Array([...pkcs8Head, ...scalar])
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  try {
    const key = await crypto.subtle.importKey('pkcs8', bytes, algorithm, true, ['sign'])
    const { x, y, d } = (await crypto.subtle.exportKey('jwk', key)) as JsonWebKey
    if (!x || !y || !d) return null
    const point = [4, ...fromBase64Url(x), ...fromBase64Url(y)]
    return { publicKey: toBase64Url(new Uint8Array(point)), privateKey: d }
  } catch {
    return null
  }
}
