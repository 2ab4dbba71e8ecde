import { createStreamHead, readPacket, type StreamHead } from './packet-line'
import { pushOptions } from './read-push'

/** Bytes of a service's answer before the first ref; more are passed on as they are. */
const headBytesMax = 131_072

/**
 * Removes the capability of push options from the refs that a service lists before a push, so that git says that
 * they are not supported and sends nothing.
 */
export function hidePushOptions(
  source: ReadableStream<Uint8Array> | null,
): ReadableStream<Uint8Array> {
  const head = createStreamHead(source)
  let isHeadSent = false
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = isHeadSent ? await head.read() : await rewriteHead(head)
      isHeadSent = true
      if (part === null) controller.close()
      else controller.enqueue(part)
    },
    cancel: (reason) => head.cancel(reason),
  })
}

/** Returns what was read of the stream, with the capabilities of its first ref changed. */
async function rewriteHead(head: StreamHead): Promise<Uint8Array> {
  for (let at = 0; at < headBytesMax; ) {
    const packet = await readPacket(head, at)
    const bytes = head.bytes()
    if (packet === null) return bytes
    const zero = bytes.subarray(at, packet.end).indexOf(0)
    if (zero !== -1) return replace(bytes, at, at + zero, packet.end)
    at = packet.end
  }
  return head.bytes()
}

/** Replaces the packet between two offsets by one without the capability. `zero`: the byte before the capabilities. */
function replace(bytes: Uint8Array, at: number, zero: number, end: number): Uint8Array {
  const listed = new TextDecoder().decode(bytes.subarray(zero + 1, end))
  const kept = listed
    .trimEnd()
    .split(' ')
    .filter((each) => each !== pushOptions)
  const encoder = new TextEncoder()
  const text = encoder.encode(`${kept.join(' ')}\n`)
  const size = zero + 1 - at + text.length
  return concat([
    bytes.subarray(0, at),
    encoder.encode(size.toString(16).padStart(4, '0')),
    bytes.subarray(at + 4, zero + 1),
    text,
    bytes.subarray(end),
  ])
}

function concat(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
