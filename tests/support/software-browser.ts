/** What a browser gives a page that subscribes to push messages, with the private halves. */
export interface SoftwareBrowser {
  endpoint: string
  /** `PushSubscription.toJSON()`, as text. */
  subscription: string
  p256dh: string
  auth: string
  /** Decrypts a message as a browser does (RFC 8291 with one record of RFC 8188). */
  read(body: ArrayBuffer): Promise<unknown>
}

const encode = (text: string) => new TextEncoder().encode(text)
const toBase64Url = (bytes: ArrayBuffer | Uint8Array): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

async function hkdf(salt: BufferSource, secret: BufferSource, info: BufferSource, bytes: number) {
  const key = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits'])
  const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info }
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, bytes * 8))
}

/** Creates a browser whose push service has this origin. */
export async function createSoftwareBrowser(origin: string): Promise<SoftwareBrowser> {
  const algorithm = { name: 'ECDH', namedCurve: 'P-256' }
  const keys = (await crypto.subtle.generateKey(algorithm, true, ['deriveBits'])) as CryptoKeyPair
  const own = new Uint8Array((await crypto.subtle.exportKey('raw', keys.publicKey)) as ArrayBuffer)
  const secret = crypto.getRandomValues(new Uint8Array(16))
  const endpoint = `${origin}/${crypto.randomUUID()}`
  const [p256dh, auth] = [toBase64Url(own), toBase64Url(secret)]
  return {
    endpoint,
    p256dh,
    auth,
    subscription: JSON.stringify({ endpoint, expirationTime: null, keys: { p256dh, auth } }),
    async read(body) {
      const bytes = new Uint8Array(body)
      const salt = bytes.slice(0, 16)
      const theirs = bytes.slice(21, 21 + (bytes[20] ?? 0))
      const publicKey = await crypto.subtle.importKey('raw', theirs, algorithm, false, [])
      const derive = { name: 'ECDH', public: publicKey } as unknown as Parameters<
        typeof crypto.subtle.deriveBits
      >[0]
      const shared = await crypto.subtle.deriveBits(derive, keys.privateKey, 256)
      const info = new Uint8Array([...encode('WebPush: info\0'), ...own, ...theirs])
      const material = await hkdf(secret, shared, info, 32)
      const contentKey = await hkdf(salt, material, encode('Content-Encoding: aes128gcm\0'), 16)
      const iv = await hkdf(salt, material, encode('Content-Encoding: nonce\0'), 12)
      const aes = await crypto.subtle.importKey('raw', contentKey, 'AES-GCM', false, ['decrypt'])
      const record = bytes.slice(21 + theirs.length)
      const plain = new Uint8Array(
        await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, aes, record),
      )
      return JSON.parse(new TextDecoder().decode(plain.slice(0, plain.lastIndexOf(2))))
    },
  }
}

/** A request that reached the fake push service. */
export interface ReceivedPush {
  url: string
  headers: Headers
  body: ArrayBuffer
}
