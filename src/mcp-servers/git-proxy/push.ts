import { gitProxy } from '../../shared/config'

interface RefCommand {
  ref: string
  old: string
  new: string
}

/** The list of refs of a push, whose pack has not been read. */
export interface PushHead {
  commands: RefCommand[]
  capabilities: Set<string>
  /** Why the list cannot be used; null: it can. */
  problem: string | null
  body: StreamHead
}

/** The capability of a push with options, which can make a service merge what is pushed. */
const pushOptions = 'push-options'

const problems = {
  malformed: 'the list of refs is malformed',
  options: 'push options are not supported: push without -o',
  certificate: 'signed pushes are not supported: push without --signed',
  tooLong: `a push can have at most ${gitProxy.refsMax} refs`,
}

const command = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (refs\/.+)$/s

/** Reads the list of refs at the beginning of a push, and nothing behind it. */
export async function readPush(stream: ReadableStream<Uint8Array> | null): Promise<PushHead> {
  const push: PushHead = {
    commands: [],
    capabilities: new Set(),
    problem: null,
    body: createStreamHead(stream),
  }
  let at = 0
  while (push.problem === null) {
    const packet = await readPacket(push.body, at)
    if (packet?.isFlush) break
    push.problem = packet ? readLine(push, packet.content) : problems.malformed
    at = packet?.end ?? at
    if (at > gitProxy.commandBytesMax) push.problem ??= problems.tooLong
  }
  return push
}

/** Reads one line of the list as git does. Returns its problem; null: it has none. */
function readLine({ commands, capabilities }: PushHead, content: string): string | null {
  // Git reads capabilities behind a zero byte on any line.
  const [text = '', ...lists] = content.replace(/\n$/, '').split('\0')
  for (const each of lists.join(' ').split(' ')) capabilities.add(each)
  if (capabilities.has(pushOptions)) return problems.options
  if (/^shallow [0-9a-f]{40,64}$/.test(text)) return null
  if (text.startsWith('push-cert')) return problems.certificate
  const [, old, next, ref] = command.exec(text) ?? []
  if (!old || !next || !ref || old.length !== next.length) return problems.malformed
  if (commands.length === gitProxy.refsMax) return problems.tooLong
  commands.push({ ref, old, new: next })
  return null
}

/** Reads what is left of a push, up to the limit: git shows no answer that comes before its last byte. */
export async function drainPush({ body }: PushHead, bytesMax: number): Promise<void> {
  let bytes = body.bytes().length
  while (bytes <= bytesMax) {
    const part = await body.read().catch(() => null)
    if (part === null) return
    bytes += part.length
  }
}

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

/** Returns an error that git prints with `remote:` before each line. */
export const refuseWithText = (status: number, message: string): Response =>
  new Response(`${message}\n`, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  })

/** Returns an error in the answer to a request for objects, whose status git does not explain. */
export const refuseFetch = (message: string): Response =>
  new Response(toPacket(`ERR ${toLine(message)}`), {
    headers: { 'content-type': 'application/x-git-upload-pack-result' },
  })

/**
 * Returns the report of a push that changed nothing: with a status of its own git would print that status, and
 * "Everything up-to-date".
 */
export function refusePush({ commands, capabilities }: PushHead, message: string): Response {
  const line = toLine(message)
  const report = [
    toPacket(commands.length === 0 ? `unpack ${line}\n` : 'unpack ok\n'),
    ...commands.map(({ ref }) => toPacket(`ng ${ref} not allowed\n`)),
    flush,
  ].join('')
  const hasReport = capabilities.has('report-status') || capabilities.has('report-status-v2')
  return new Response(wrap(capabilities, line, hasReport ? report : ''), {
    headers: { 'content-type': 'application/x-git-receive-pack-result' },
  })
}

/** Puts message and report into the side band, in parts that fit the older kind of it too. */
function wrap(capabilities: PushHead['capabilities'], line: string, report: string): string {
  if (!capabilities.has('side-band-64k') && !capabilities.has('side-band')) return report
  const parts = report.match(/[\s\S]{1,300}/g) ?? []
  return [
    toPacket(`\x02Rookery: ${line}\n`),
    ...parts.map((part) => toPacket(`\x01${part}`)),
    flush,
  ].join('')
}

/** Shortens a message to one line, which also fits into a packet. */
const toLine = (message: string): string => message.replace(/\s+/g, ' ').trim().slice(0, 900)

/** Packet lines: four hexadecimal digits of length, themselves included, then the content. */

const flush = '0000'

const encoder = new TextEncoder()

/** Returns a packet line with a content. */
const toPacket = (content: string): string =>
  (encoder.encode(content).length + 4).toString(16).padStart(4, '0') + content

/** The beginning of a stream, read on demand, and the rest of it. */
interface StreamHead {
  /** Everything read so far. */
  bytes(): Uint8Array<ArrayBuffer>
  /** Returns the bytes from `from` to `to`; null when the stream ends before. */
  slice(from: number, to: number): Promise<Uint8Array | null>
  /** Reads on behind what `bytes` returns; null at the end. */
  read(): Promise<Uint8Array | null>
  /** Ends the stream. */
  cancel(reason: unknown): Promise<void>
}

function createStreamHead(body: ReadableStream<Uint8Array> | null): StreamHead {
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
async function readPacket(
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
