import type { ActivationEvent } from './api.ts'
import { type HubClient, pause } from './client.ts'

/** A numbered event of a run; or, without a number, text as it is written, and the end. */
export type RunEvent = Omit<ActivationEvent, 'seq' | 'activation_id' | 'at' | 'kind'> & {
  type: string
  seq?: number
  /** Of text: how many characters of the text sent so far stay. */
  from?: number
  text?: string
  doing?: string | null
}

interface WatchOptions {
  /** Sequence number of the last event seen; the first event returned is the next one. */
  after?: number
  /** `full` has what the trace has, for those who may see all of it. Default `thread`. */
  view?: 'full' | 'thread'
  signal?: AbortSignal
}

/** The parts of a WebSocket that are used; browsers, Node and Workers agree on them. */
interface Socket {
  close(): void
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void
  addEventListener(type: 'open' | 'close' | 'error', listener: () => void): void
}
type OpenSocket = new (url: string, options?: { headers: Record<string, string> }) => Socket

const pollMs = 1_000
const firstBackoffMs = 500
const backoffMsMax = 15_000

/**
 * Iterates over the events of a run until its end, over a WebSocket. A lost connection is opened again and
 * asks for the events after the last number, so that none is missed or repeated. Where a socket cannot
 * carry the key, which is so in browsers, or cannot be opened, the numbered events are polled.
 */
export async function* watchRun(
  client: HubClient,
  id: string,
  { after = 0, view = 'thread', signal }: WatchOptions = {},
): AsyncGenerator<RunEvent> {
  const state = { seen: after, isOver: false }
  let backoffMs = firstBackoffMs
  let isOpened = canAuthenticate(client)
  while (isOpened) {
    const before = state.seen
    const connection = connect(client, id, { after: state.seen, view }, signal)
    yield* passNew(connection.events, state)
    if (state.isOver) return
    signal?.throwIfAborted()
    isOpened = connection.wasOpened()
    backoffMs = state.seen > before ? firstBackoffMs : Math.min(backoffMs * 2, backoffMsMax)
    if (isOpened) await pause(backoffMs, signal)
  }
  yield* pollRun(client, id, state.seen, signal)
}

/** Passes the events on that were not seen yet, and keeps the last number. */
async function* passNew(
  events: AsyncIterable<RunEvent>,
  state: { seen: number; isOver: boolean },
): AsyncGenerator<RunEvent> {
  for await (const event of events) {
    if (event.seq !== undefined && event.seq <= state.seen) continue
    state.seen = event.seq ?? state.seen
    state.isOver = event.type === 'over'
    yield event
    if (state.isOver) return
  }
}

/** Iterates over the numbered events of a run until its end, by polling. */
async function* pollRun(
  client: HubClient,
  id: string,
  after: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<RunEvent> {
  let seen = after
  for (;;) {
    const options = { params: { id }, query: { after: seen }, ...(signal && { signal }) }
    const { events, is_over } = await client.call('GET /activations/:id/events', options)
    for (const event of events) {
      seen = event.seq
      yield event
    }
    if (is_over) {
      yield { type: 'over' }
      return
    }
    await pause(pollMs, signal)
  }
}

const isNode = 'process' in globalThis && 'versions' in (globalThis as { process: object }).process

/** Whether a socket is authenticated as requests are: in browsers it has the page's cookie, but no key. */
const canAuthenticate = ({ headers }: HubClient): boolean =>
  typeof WebSocket === 'function' && (isNode || Object.keys(headers).length === 0)

function connect(
  { url, headers }: HubClient,
  id: string,
  { after, view }: { after: number; view: string },
  signal: AbortSignal | undefined,
) {
  const address = new URL(
    `${url}/live/activations/${encodeURIComponent(id)}?view=${view}&after=${after}`,
  )
  address.protocol = address.protocol.replace('http', 'ws')
  const Opened = WebSocket as unknown as OpenSocket
  const socket = isNode ? new Opened(address.href, { headers }) : new Opened(address.href)
  const events = queue<RunEvent>()
  let isOpened = false
  socket.addEventListener('open', () => {
    isOpened = true
  })
  socket.addEventListener('message', ({ data }) => events.push(JSON.parse(String(data))))
  socket.addEventListener('close', events.end)
  socket.addEventListener('error', events.end)
  const stop = () => {
    events.end()
    socket.close()
  }
  signal?.addEventListener('abort', stop, { once: true })
  return { events: withEnd(events.items(), stop), wasOpened: () => isOpened }
}

/** Calls `stop` when an iteration ends, however it ends. */
async function* withEnd<Item>(items: AsyncIterable<Item>, stop: () => void) {
  try {
    yield* items
  } finally {
    stop()
  }
}

/** Items that arrive by callback, to iterate over. */
function queue<Item>() {
  const waiting: Item[] = []
  let isOver = false
  let wake = () => {}
  return {
    push(item: Item) {
      waiting.push(item)
      wake()
    },
    end() {
      isOver = true
      wake()
    },
    async *items(): AsyncGenerator<Item> {
      for (;;) {
        for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) yield item
        if (isOver) return
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}
