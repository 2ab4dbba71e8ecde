/** Packet lines: four hexadecimal digits of length, themselves included, then the content. */

export const flush = '0000'

const encoder = new TextEncoder()

/** Returns a packet line with a content. */
export const toPacket = (content: string): string =>
  (encoder.encode(content).length + 4).toString(16).padStart(4, '0') + content

/** The beginning of a stream, read on demand, and the rest of it. */
export interface StreamHead {
  /** Everything read so far. */
  bytes(): Uint8Array<ArrayBuffer>
  /** Returns the bytes from `from` to `to`; null when the stream ends before. */
  slice(from: number, to: number): Promise<Uint8Array | null>
  /** Reads on behind what `bytes` returns; null at the end. */
  read(): Promise<Uint8Array | null>
  /** Ends the stream. */
  cancel(reason: unknown): Promise<void>
}

export function createStreamHead(body: ReadableStream<Uint8Array> | null): StreamHead {
  const reader = body?.getReader()
  let buffer = new Uint8Array(4_096)
  let length = 0
  const read = async () => {
    const part = await reader?.read()
    return part?.value ?? null
  }
  const append = (part: Uint8Array) => {
    if (length + part.length > buffer.length) {
      const wider = new Uint8Array(Math.max(buffer.length * 2, length + part.length))
      wider.set(buffer.subarray(0, length))
      buffer = wider
    }
    buffer.set(part, length)
    length += part.length
  }
  return {
    bytes: () => buffer.subarray(0, length),
    async slice(from, to) {
      while (length < to) {
        const part = await read()
        if (part === null) return null
        append(part)
      }
      return buffer.subarray(from, to)
    },
    read,
    cancel: async (reason) => reader?.cancel(reason),
  }
}

/**
 * Returns the content of the packet line at an offset, or `flush`, with the offset behind it.
 *
 * @returns null when there is none: the stream ends, or it is another special packet
 */
export async function readPacket(
  head: StreamHead,
  at: number,
): Promise<{ content: string; end: number; isFlush: boolean } | null> {
  const digits = await head.slice(at, at + 4)
  const size = digits && new TextDecoder().decode(digits)
  if (!size || !/^[0-9a-f]{4}$/i.test(size)) return null
  if (size === flush) return { content: '', end: at + 4, isFlush: true }
  const end = at + Number.parseInt(size, 16)
  const bytes = end > at + 4 ? await head.slice(at + 4, end) : null
  return bytes && { content: decode(bytes), end, isFlush: false }
}

/** Decodes a content; bytes that are not UTF-8 become a character that no ref may contain. */
const decode = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true, fatal: false }).decode(bytes)
