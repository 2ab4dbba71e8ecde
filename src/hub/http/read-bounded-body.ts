import { httpErrors } from './http-errors'

/**
 * Reads a body of at most `bytesMax` bytes.
 *
 * @throws TOO_LARGE as soon as there is more, REQUEST_TIMEOUT when the last byte does not arrive in time
 */
export async function readBoundedBody(
  request: Request,
  { bytesMax, readMs }: { bytesMax: number; readMs: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader()
  if (!reader) return new Uint8Array()
  let timer: ReturnType<typeof setTimeout> | null = null
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(httpErrors.bodyTimedOut(readMs)), readMs)
  })
  try {
    return await Promise.race([collect(reader, bytesMax), timeout])
  } catch (error) {
    reader.cancel().catch(() => undefined)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > bytesMax) throw httpErrors.tooLarge(bytesMax)
    chunks.push(value)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Throws TOO_LARGE when a request declares a longer body. */
export function requireShortBody(request: Request, bytesMax: number): void {
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) {
    throw httpErrors.tooLarge(bytesMax)
  }
}
