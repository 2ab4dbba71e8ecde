import type { StoredFile } from '../contract/transfer'

/** Bytes of a page, unless its first file is longer. */
const pageBytesMax = 4 * 1024 * 1024
const filesPerPage = 100

/** Returns files of the bucket after a key, in the order of keys. */
export async function readFiles(
  bucket: R2Bucket,
  after: string | null,
): Promise<{ files: StoredFile[]; next: string | null }> {
  const listed = await bucket.list({
    limit: filesPerPage,
    include: ['customMetadata', 'httpMetadata'],
    ...(after !== null && { startAfter: after }),
  })
  const page: R2Object[] = []
  let bytes = 0
  for (const object of listed.objects) {
    bytes += object.size
    if (page.length > 0 && bytes > pageBytesMax) break
    page.push(object)
  }
  const files = await Promise.all(page.map((object) => readFile(bucket, object)))
  const isLast = page.length === listed.objects.length && !listed.truncated
  return { files: files.flat(), next: isLast ? null : (page.at(-1)?.key ?? null) }
}

/** Returns a file; none when it was deleted meanwhile. */
async function readFile(bucket: R2Bucket, { key }: R2Object): Promise<StoredFile[]> {
  const object = await bucket.get(key)
  if (!object) return []
  const bytes = new Uint8Array(await object.arrayBuffer())
  return [
    {
      key,
      body: toBase64(bytes),
      contentType: object.httpMetadata?.contentType ?? null,
      metadata: object.customMetadata ?? {},
    },
  ]
}

export async function writeFiles(bucket: R2Bucket, files: StoredFile[]): Promise<void> {
  for (const { key, body, contentType, metadata } of files) {
    await bucket.put(key, fromBase64(body), {
      customMetadata: metadata,
      ...(contentType !== null && { httpMetadata: { contentType } }),
    })
  }
}

/** Bytes per call, as arguments of a function. */
const chunkBytes = 32 * 1024

function toBase64(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)))
  }
  return btoa(parts.join(''))
}

const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
