import type { ArchiveStore } from '../contract/hub'

/** Creates the store of old records in R2. */
export const createArchiveStore = (bucket: R2Bucket): ArchiveStore => ({
  put: async (key, bytes) => {
    await bucket.put(key, bytes)
  },
  get: async (key, range) => {
    const object = await bucket.get(key, range ? { range } : {})
    return object && new Uint8Array(await object.arrayBuffer())
  },
  list: async (prefix) => (await bucket.list({ prefix })).objects.map(({ key }) => key),
  delete: async (keys) => {
    if (keys.length > 0) await bucket.delete(keys)
  },
})

const encoder = new TextEncoder()

const collect = async (stream: ReadableStream): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await new Response(stream).arrayBuffer())

const toStream = (bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  })

const compress = (text: string): Promise<Uint8Array<ArrayBuffer>> =>
  collect(toStream(new Uint8Array(encoder.encode(text))).pipeThrough(new CompressionStream('gzip')))

/** Returns the text of compressed bytes. @throws for bytes that are not gzip */
export const decompress = async (bytes: Uint8Array): Promise<string> =>
  new TextDecoder().decode(
    await collect(toStream(new Uint8Array(bytes)).pipeThrough(new DecompressionStream('gzip'))),
  )

const toBase64 = (bytes: Uint8Array): string => {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

/** Returns the records as JSON lines, compressed. */
export const encodeLines = (records: readonly object[]): Promise<Uint8Array<ArrayBuffer>> =>
  compress(records.map((record) => `${JSON.stringify(record)}\n`).join(''))

/** Where a record lies in a file, in bytes. */
export interface Place {
  offset: number
  length: number
}

/** Joins compressed lines to one file, which is gzip as a whole, and returns where each lies. */
export async function joinLines(
  records: readonly object[],
): Promise<{ bytes: Uint8Array<ArrayBuffer>; places: Place[] }> {
  const lines = await Promise.all(records.map((record) => encodeLines([record])))
  const bytes = new Uint8Array(lines.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  const places = lines.map((line) => {
    bytes.set(line, offset)
    const place = { offset, length: line.length }
    offset += line.length
    return place
  })
  return { bytes, places }
}

const cipher = 'AES-GCM'
const nonceBytes = 12

/** Encrypts a text with a new key. Without the key, which is kept elsewhere, nobody can read it again. */
export async function seal(text: string): Promise<{ sealed: string; secret: string }> {
  const secret = crypto.getRandomValues(new Uint8Array(32))
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const key = await crypto.subtle.importKey('raw', secret, cipher, false, ['encrypt'])
  const data = await crypto.subtle.encrypt({ name: cipher, iv }, key, await compress(text))
  const bytes = new Uint8Array(nonceBytes + data.byteLength)
  bytes.set(iv)
  bytes.set(new Uint8Array(data), nonceBytes)
  return { sealed: toBase64(bytes), secret: toBase64(secret) }
}

/** Decrypts what `seal` returned. @throws for another key */
export async function unseal(sealed: string, secret: string): Promise<string> {
  const bytes = fromBase64(sealed)
  const key = await crypto.subtle.importKey('raw', fromBase64(secret), cipher, false, ['decrypt'])
  const iv = bytes.subarray(0, nonceBytes)
  const data = await crypto.subtle.decrypt({ name: cipher, iv }, key, bytes.subarray(nonceBytes))
  return decompress(new Uint8Array(data))
}
