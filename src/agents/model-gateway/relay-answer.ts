import { modelGateway } from '../../shared/config'
import type { CallTimeouts } from '../models/model-port'
import type { Clock } from '../models/response-timer'

/** How the bytes of an answer ended. */
export type RelayEnd = 'complete' | 'broken' | 'stalled' | 'too_long' | 'cancelled'

interface Relay {
  clock: Clock
  timeouts: Pick<CallTimeouts, 'betweenBytesMs'>
  /** Ends the provider's connection. */
  abort: AbortController
  onBytes(bytes: Uint8Array): void
  /** Called once, after the last byte. */
  onEnd(end: RelayEnd): void
}

/**
 * Returns a stream that passes on the bytes of an answer as they come and reads the next ones only when its
 * reader has taken these, so that a slow reader fills no memory. When the reader goes away, so does the
 * provider's connection. Only waiting for the provider counts as a stall.
 */
export function relayAnswer(
  body: ReadableStream<Uint8Array>,
  { clock, timeouts, abort, onBytes, onEnd }: Relay,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let bytes = 0
  let isEnded = false
  const end = (how: RelayEnd) => {
    if (isEnded) return
    isEnded = true
    reads.stop()
    onEnd(how)
  }
  const stop = (how: RelayEnd) => {
    end(how)
    abort.abort()
    reader.cancel().catch(() => undefined)
  }
  const reads = createTimedReads(reader, clock, timeouts.betweenBytesMs)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await reads.next()
        if (isEnded) return
        if (next === 'stalled' || next === 'broken') {
          stop(next)
          controller.error(new Error('The provider ended the answer early.'))
        } else if (next === 'complete') {
          end('complete')
          controller.close()
        } else {
          bytes += next.length
          if (bytes > modelGateway.answerBytesMax) {
            stop('too_long')
            controller.error(new Error('The answer is too long.'))
          } else {
            onBytes(next)
            controller.enqueue(next)
          }
        }
      },
      cancel: () => stop('cancelled'),
    },
    { highWaterMark: 0 },
  )
}

type Next = Uint8Array | 'complete' | 'broken' | 'stalled'

/**
 * Reads the chunks of an answer; `stalled` when the next one does not come in time. One timer serves all reads: it is
 * moved when it fires, because an answer has thousands of chunks.
 */
function createTimedReads(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  clock: Clock,
  timeoutMs: number,
): { next(): Promise<Next>; stop(): void } {
  let since: number | null = null
  let giveUp: (next: Next) => void = () => undefined
  let cancelTimer: (() => void) | null = null
  const check = () => {
    cancelTimer = null
    if (since === null) return
    const left = since + timeoutMs - clock.now()
    if (left > 0) cancelTimer = clock.setTimer(left, check)
    else giveUp('stalled')
  }
  return {
    async next() {
      since = clock.now()
      cancelTimer ??= clock.setTimer(timeoutMs, check)
      const stalled = new Promise<Next>((resolve) => {
        giveUp = resolve
      })
      const read = reader.read().then(
        ({ done, value }): Next => (done ? 'complete' : value),
        (): Next => 'broken',
      )
      const next = await Promise.race([read, stalled])
      since = null
      return next
    },
    stop: () => cancelTimer?.(),
  }
}
