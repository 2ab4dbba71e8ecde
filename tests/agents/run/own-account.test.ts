import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { ActivationStream } from '../../../src/agents/run/live-stream'
import { toRunLog } from '../../../src/agents/run/run-log'
import type { ActivationId } from '../../../src/shared/ids'
import { Scenario } from '../loop/scenario'

const id = 'activation' as ActivationId

interface Watcher {
  name: string
  tags: string[]
  sent: string[]
  closed: number | null
}

/** A stream with watchers by their tags; closed ones hear nothing more. */
function createStream(...tags: string[]) {
  const watchers = tags.map(
    (tag): Watcher => ({ name: tag, tags: [id, `${id} ${tag}`], sent: [], closed: null }),
  )
  const toSocket = (watcher: Watcher) =>
    ({
      send: (text: string) => watcher.sent.push(text),
      close: (code: number) => {
        watcher.closed = code
      },
      deserializeAttachment: () => null,
    }) as unknown as WebSocket
  const stream = new ActivationStream(
    {
      acceptWebSocket: () => {},
      getWebSockets: (tag?: string) =>
        watchers
          .filter((each) => each.closed === null && (tag === undefined || each.tags.includes(tag)))
          .map(toSocket),
    },
    (text) => text,
  )
  stream.findWatchers()
  const closed = () => watchers.flatMap(({ name, closed: code }) => (code === 4403 ? [name] : []))
  const heard = () => Object.fromEntries(watchers.map(({ name, sent }) => [name, sent.join('')]))
  return { stream, closed, heard }
}

const { events } = new Scenario().wake().load().answer('', ['c1'])
const own: LoopEvent = {
  type: 'tool_returned',
  at: 9,
  effectId: 1,
  callId: 'c1',
  name: 'desk_look',
  text: 'SECRET',
  isError: false,
  startedAt: 8,
  durationMs: 1,
  resultBytes: 6,
  audit: null,
  isOwnAccount: true,
}
const snapshot = {
  activationId: id,
  events: [...events, own],
  ending: null,
  doing: null,
  isCommitted: false,
}
const views = ['full', 'thread', 'outline', 'full aware', 'thread aware']

test('C6 T21: watchers who were let in before are closed before the result of an account is sent', () => {
  const { stream, closed, heard } = createStream(...views)
  stream.publish({ ...snapshot, events }, null)
  expect(closed()).toEqual([])
  stream.publish(snapshot, null)
  expect(closed()).toEqual(['full', 'thread'])
  const texts = Object.entries(heard()).filter(([, text]) => text.includes('SECRET'))
  expect(texts.map(([name]) => name)).toEqual(['full aware'])
})

test('C6 T21: after a crash they are closed before the model answers', () => {
  const { stream, closed, heard } = createStream(...views)
  const call = stream.beginCall(id, true)
  stream.addDelta(call, { kind: 'text', text: 'SECRET words ' })
  stream.endCall(call)
  expect(closed()).toEqual(['full', 'thread'])
  const texts = Object.entries(heard()).filter(([, text]) => text.includes('SECRET'))
  expect(texts.map(([name]) => name)).toEqual(['full aware', 'thread aware'])
})

test('C6 T21: a watcher whose access was decided before that has to ask again', () => {
  const { stream } = createStream()
  const request = new Request('https://agent.test', { headers: { upgrade: 'websocket' } })
  for (const view of ['full', 'thread'] as const) {
    const watched = { activationId: id, after: 0, view }
    expect(stream.watch(request, watched, snapshot).status).toBe(503)
    // Not before, and not who was let in knowing it.
    expect(stream.watch(request, watched, { ...snapshot, events }).status).toBe(101)
    const aware = { ...watched, knowsOwnAccount: true }
    expect(stream.watch(request, aware, snapshot).status).toBe(101)
  }
})

test('C6 T21: the log of such a run says so, also when its steps are left out', () => {
  expect(toRunLog(snapshot.events, null).usesOwnAccount).toBe(true)
  expect(toRunLog(events, null).usesOwnAccount).toBeUndefined()
})
