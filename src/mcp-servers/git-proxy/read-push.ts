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
  capabilities: ReadonlySet<string>
  /** Why the list cannot be used; null: it can. */
  problem: string | null
  body: StreamHead
}

const problems = {
  malformed: 'the list of refs is malformed',
  certificate: 'signed pushes are not supported: push without --signed',
  tooLong: `a push can have at most ${gitProxy.refsMax} refs`,
}

const command = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (refs\/.+)$/s

/** Reads the list of refs at the beginning of a push, and nothing behind it. */
export async function readPush(stream: ReadableStream<Uint8Array> | null): Promise<PushHead> {
  const body = createStreamHead(stream)
  const commands: RefCommand[] = []
  const capabilities = new Set<string>()
  const finish = (problem: string | null): PushHead => ({ commands, capabilities, problem, body })
  let at = 0
  for (;;) {
    const packet = await readPacket(body, at)
    if (!packet) return finish(problems.malformed)
    if (packet.isFlush) return finish(null)
    at = packet.end
    if (at > gitProxy.commandBytesMax) return finish(problems.tooLong)
    const [text = '', ...lists] = packet.content.replace(/\n$/, '').split('\0')
    for (const each of lists.join(' ').split(' ')) capabilities.add(each)
    if (/^shallow [0-9a-f]{40,64}$/.test(text)) continue
    if (text.startsWith('push-cert')) return finish(problems.certificate)
    const [, old, next, ref] = command.exec(text) ?? []
    if (!old || !next || !ref || old.length !== next.length) return finish(problems.malformed)
    commands.push({ ref, old, new: next })
    if (commands.length > gitProxy.refsMax) return finish(problems.tooLong)
  }
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
