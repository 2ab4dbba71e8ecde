import { afterEach, expect, test, vi } from 'vitest'
import { HubClient, type RunEvent, watchRun } from '../../client/index.ts'

/** What each connection sends before it is lost; an empty list refuses the connection. */
function stubSockets(connections: object[][]) {
  const opened: { url: string; headers: Record<string, string> | undefined }[] = []
  class FakeSocket extends EventTarget {
    constructor(url: string, options?: { headers: Record<string, string> }) {
      super()
      opened.push({ url, headers: options?.headers })
      const events = connections.shift() ?? []
      setTimeout(() => {
        if (events.length > 0) this.dispatchEvent(new Event('open'))
        for (const event of events) {
          const message = Object.assign(new Event('message'), { data: JSON.stringify(event) })
          this.dispatchEvent(message)
        }
        this.dispatchEvent(new Event('close'))
      })
    }
    close() {}
  }
  vi.stubGlobal('WebSocket', FakeSocket)
  return opened
}

afterEach(() => {
  vi.unstubAllGlobals()
})

async function collect(client: HubClient) {
  const seen: RunEvent[] = []
  for await (const event of watchRun(client, 'run-1')) seen.push(event)
  return seen
}

const event = (seq: number) => ({ seq, type: 'tool-call' })

test('H16: a lost connection is opened again and asks for what comes after the last number', async () => {
  const over = { type: 'over' }
  const opened = stubSockets([
    [{ type: 'hello', doing: null }, event(1), event(2)],
    [event(2), event(3), over],
  ])
  const seen = await collect(new HubClient({ url: 'http://hub.test', key: 'key' }))
  expect(seen.flatMap(({ seq }) => seq ?? [])).toEqual([1, 2, 3])
  expect(seen.at(-1)).toEqual(over)
  const address = 'ws://hub.test/live/activations/run-1?view=thread&after='
  expect(opened.map(({ url }) => url)).toEqual([`${address}0`, `${address}2`])
  expect(opened[1]?.headers).toEqual({ authorization: 'Bearer key' })
})

test('H16: where no socket can be opened, events are polled by number until the run is over', async () => {
  stubSockets([[event(1)], []])
  const asked: string[] = []
  const client = new HubClient({
    url: 'http://hub.test',
    key: 'key',
    fetch: async ({ url }) => {
      asked.push(url)
      const isOver = asked.length === 2
      return Response.json({ success: true, events: [event(asked.length + 1)], is_over: isOver })
    },
  })
  const seen = await collect(client)
  expect(seen.map(({ seq, type }) => seq ?? type)).toEqual([1, 2, 3, 'over'])
  expect(asked.map((url) => url.split('?')[1])).toEqual(['after=1', 'after=2'])
})
