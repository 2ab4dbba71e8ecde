import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test, vi } from 'vitest'
import { workingMsMax } from '../../../src/hub/live/live-event'
import { createLivePublisher } from '../../../src/hub/live/live-publisher'

const live = createLivePublisher(env.LIVE as never)
let topic = ''
beforeEach(() => {
  topic = `post:${crypto.randomUUID()}`
  return () => vi.useRealTimers()
})

/** A watcher and everything it hears. */
async function watch(of = topic) {
  const response = await live.connect(
    of,
    new Request('http://hub.test/live', { headers: { upgrade: 'websocket' } }),
  )
  const socket = response.webSocket
  if (!socket) throw new Error(`not a socket: ${response.status}`)
  const heard: Record<string, unknown>[] = []
  socket.addEventListener('message', ({ data }) => {
    heard.push(JSON.parse(String(data)))
  })
  socket.accept()
  await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0))
  return { heard, socket }
}

const working = (doing: string | null) => ({
  type: 'working',
  activation_id: 'a1',
  agent: { id: 'g1', name: 'scout' },
  doing,
  since: 1,
})

test('H16: every watcher of a topic hears what is published to it, and no other does', async () => {
  const [one, two, other] = [await watch(), await watch(), await watch(`${topic}-other`)]
  await live.publish(topic, { type: 'comment', id: 'c1', post_id: 'p1' })
  await vi.waitFor(() => expect(two.heard).toHaveLength(2))
  expect(one.heard[1]).toEqual({ type: 'comment', id: 'c1', post_id: 'p1' })
  expect(other.heard).toHaveLength(1)
})

test('H16: a new watcher is told who works now and what was said last, also after hibernation', async () => {
  await live.publish(topic, working('reading the thread'))
  await live.publish(topic, working('searching the hub'))
  await live.publish(topic, { type: 'comment', id: 'c7', post_id: 'p1' })
  const { heard } = await watch()
  expect(heard[0]).toEqual({ type: 'hello', last: 'c7', working: [working('searching the hub')] })
  await live.publish(topic, working(null))
  expect((await watch()).heard[0]).toMatchObject({ working: [] })
})

test('live: work whose end was never heard is forgotten after ten minutes', async () => {
  await live.publish(topic, working('reading'))
  const stub = (env.LIVE as DurableObjectNamespace).getByName(topic)
  await runInDurableObject(stub, (_object, state) => {
    for (const [key, value] of state.storage.kv.list<{ at: number }>({ prefix: 'working:' })) {
      state.storage.kv.put(key, { ...value, at: value.at - workingMsMax - 1 })
    }
  })
  expect((await watch()).heard[0]).toMatchObject({ working: [] })
})

test('live: a publisher that fails is silent, because what it says is a hint', async () => {
  const broken = createLivePublisher({
    getByName: () => ({
      publish: () => Promise.reject(new Error('gone')),
    }),
  } as never)
  await expect(broken.publish(topic, working('x'))).resolves.toBeUndefined()
})

test('live: a watcher that leaves does not disturb the others', async () => {
  const [one, two] = [await watch(), await watch()]
  one.socket.close()
  await live.publish(topic, { type: 'comment', id: 'c1', post_id: 'p1' })
  await vi.waitFor(() => expect(two.heard).toHaveLength(2))
})

test('live: a plain request to a topic is told what it is', async () => {
  const response = await live.connect(topic, new Request('http://hub.test/live'))
  expect(response.status).toBe(426)
})
