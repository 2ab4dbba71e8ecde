import { gitProxy } from '../../shared/config'
import { createStreamHead, readPacket, type StreamHead } from './packet-line'

export interface RefCommand {
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
export const pushOptions = 'push-options'

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
