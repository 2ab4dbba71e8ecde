import { modelGateway } from '../../shared/config'
import type { Fetch } from './model-port'

/** Brings the events of one answer into the form of their protocol. One for each answer: it may have a state. */
export interface StreamRepair {
  /**
   * Returns the events to read in place of one: none for what has nothing to read. Null: what the event is
   * is not known, so the reader has to judge it as it came.
   *
   * @param data null for data that is not a JSON object
   */
  repair(data: Record<string, unknown> | null): object[] | null
  /** Returns one event for two that follow each other, such as two pieces of a text; null for those that stay two. */
  join(before: object, after: object): object | null
  /** Whether the answer is complete: what comes after that, a broken connection included, takes nothing of it. */
  isFinished(): boolean
  /** Returns what the protocol still requires at the end of a complete answer. */
  end(): object[]
}

/**
 * Returns a fetch whose event streams are repaired before a provider's package reads them. Packages check every event
 * against the schema of one provider and give up the whole answer for an event of another form, also after its end:
 * servers that follow a protocol add events, leave out fields and repeat themselves. Pieces of a text that arrive together
 * become one event: packages take a tenth of a millisecond for each, whatever is in it.
 */
export const createRepairingFetch =
  (fetch: Fetch, createRepair: () => StreamRepair): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    const type = response.headers.get('content-type') ?? ''
    if (!response.ok || !response.body || /json|html/.test(type)) return response
    return new Response(repairStream(response.body, createRepair()), response)
  }

/** Characters of an event, which is at most what one answer may be. A longer one is passed over. */
const eventCharsMax = 4 * 1024 * 1024

function repairStream(
  body: ReadableStream<Uint8Array>,
  repair: StreamRepair,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const encoder = new TextEncoder()
  /** What has been read and not passed on: events, or data as it came. */
  let read: (object | string)[] = []
  const push = (event: object) => {
    const before = read.at(-1)
    const joined = typeof before === 'object' ? repair.join(before, event) : null
    if (joined) read[read.length - 1] = joined
    else read.push(event)
  }
  let hasEnded = false
  const add = createEventSplitter((data) => {
    const text = data.trim()
    if (text === '' || text === '[DONE]') return
    const event = parseObject(text)
    // Half an event, at which the answer broke off or was truncated.
    if (event === null && hasEnded) return
    const repaired = repair.repair(event)
    if (repaired) for (const each of repaired) push(each)
    else if (!repair.isFinished()) read.push(data)
  }, eventCharsMax)
  const finish = () => {
    hasEnded = true
    add()
    for (const event of repair.end()) push(event)
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let isDone = false
      while (read.length === 0 && !isDone) {
        const next = await reader.read().catch((error: unknown) => {
          if (!repair.isFinished()) throw error
          return { done: true as const, value: undefined }
        })
        isDone = next.done
        if (next.done) finish()
        else {
          add(next.value)
          // Bytes without an event, such as comments, are no news.
        }
      }
      if (read.length > 0) controller.enqueue(encoder.encode(read.map(toEvent).join('')))
      read = []
      if (isDone) controller.close()
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

function toEvent(read: object | string): string {
  const data = typeof read === 'string' ? read : JSON.stringify(read)
  return `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const toText = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Returns a count; servers also send texts and null. A negative one is passed on: whoever counts money does not believe it. */
export function toCount(value: unknown): number | null {
  const count = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof count === 'number' && Number.isFinite(count) ? count : null
}

/** Returns arguments as the protocol has them, a piece of JSON; some servers send the object itself. */
export const toArguments = (value: unknown): string | null =>
  isObject(value) ? JSON.stringify(value) : toText(value)

/**
 * Splits a stream of server-sent events into their data, whatever the chunks. Returns a function that takes the
 * next bytes; without bytes it ends the stream.
 *
 * @param onData receives the data of each event
 */
export function createEventSplitter(
  onData: (data: string) => void,
  charsMax: number = modelGateway.eventCharsMax,
): (bytes?: Uint8Array) => void {
  const decoder = new TextDecoder()
  let line: string[] = []
  let chars = 0
  let data: string[] = []
  let endsWithReturn = false

  const endEvent = () => {
    if (data.length > 0) onData(data.join('\n'))
    data = []
    chars = 0
  }
  const endLine = () => {
    const text = line.join('')
    line = []
    if (text === '') return endEvent()
    if (text.startsWith('data:') && chars <= charsMax) data.push(text.slice(5).replace(/^ /, ''))
  }
  const add = (text: string) => {
    chars += text.length
    if (chars <= charsMax && text !== '') line.push(text)
    // It cannot be read any more: its beginning is dropped too.
    if (chars > charsMax) data = []
  }

  const addText = (decoded: string) => {
    // A line ends with CR, LF or both, which chunks can separate.
    const text = endsWithReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded
    if (decoded !== '') endsWithReturn = decoded.endsWith('\r')
    const lines = text.split(/\r\n|\r|\n/)
    for (const [index, each] of lines.entries()) {
      add(each)
      if (index < lines.length - 1) endLine()
    }
  }

  return (bytes) => {
    if (bytes) return addText(decoder.decode(bytes, { stream: true }))
    addText(decoder.decode())
    endLine()
    endEvent()
  }
}
