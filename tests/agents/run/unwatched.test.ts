import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ActivationStream } from '../../../src/agents/run/live-stream'
import type { ActivationId } from '../../../src/shared/ids'
import { Scenario } from '../loop/scenario'

/** A stream without watchers, and the number of messages that it sends with watchers. */
const id = 'activation' as ActivationId
let watchers: { sent: string[] }[] = []

const stream = () => {
  const made = new ActivationStream(
    {
      acceptWebSocket: () => {},
      getWebSockets: (tag?: string) =>
        ([undefined, id, `${id} thread`].includes(tag) ? watchers : []).map(
          ({ sent }) =>
            ({
              send: (text: string) => sent.push(text),
              deserializeAttachment: () => null,
            }) as unknown as WebSocket,
        ),
    },
    (text) => text,
  )
  made.findWatchers()
  return made
}

beforeEach(() => {
  watchers = []
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('L22: without watchers no timer is kept and no event is built', () => {
  const watched = stream()
  const call = watched.beginCall(id, false)
  for (let count = 0; count < 50; count++) watched.addDelta(call, { kind: 'text', text: 'word ' })
  expect(vi.getTimerCount()).toBe(0)
  watched.endCall(call)
  const { events } = new Scenario().wake().load()
  // The events are not even read.
  const unread = new Proxy(events, {
    get: () => {
      throw new Error('read for nobody')
    },
  })
  watched.publish(
    { activationId: id, events: unread, ending: null, doing: null, isCommitted: false },
    null,
  )
})

test('L22: with watchers, deltas within a tenth of a second are one message, and the timer ends', () => {
  watchers = [{ sent: [] }]
  const watched = stream()
  const call = watched.beginCall(id, false)
  for (let count = 0; count < 50; count++) watched.addDelta(call, { kind: 'text', text: 'word ' })
  expect(vi.getTimerCount()).toBe(1)
  expect(watchers[0]?.sent).toEqual([])
  vi.advanceTimersByTime(100)
  expect(watchers[0]?.sent).toHaveLength(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('L22 L34: text of an interrupted call is not added to the next one', () => {
  watchers = [{ sent: [] }]
  const watched = stream()
  const old = watched.beginCall(id, false)
  const next = watched.beginCall(id, false)
  watched.addDelta(old, { kind: 'text', text: 'old words ' })
  watched.addDelta(next, { kind: 'text', text: 'new words ' })
  watched.endCall(old)
  watched.endCall(next)
  expect(watchers[0]?.sent.map((text) => JSON.parse(text))).toEqual([
    { type: 'text-delta', from: 0, text: 'new words ' },
  ])
})
