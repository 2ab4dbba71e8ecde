import { deriveBytes } from '../credentials/derive-bytes'

/** The key pair that signs messages to browsers (ES256, RFC 8292). */
export interface PushKey {
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

const fromBase64 = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
const fromBase64Url = (text: string) => fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
const toBase64Url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
