import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import {
  accountTag,
  keyTag,
  type LiveEvent,
  type LiveSnapshot,
  toWatcherTags,
} from '../../../src/hub/contract/live-event'
import { createLivePublisher } from '../../../src/hub/live/live-publisher'
import { toLiveObjectName } from '../../../src/hub/live/live-request'
import { liveLimits } from '../../../src/shared/config'

const namespace = env.LIVE as DurableObjectNamespace
const live = createLivePublisher(env.LIVE as never)
let topic = ''
beforeEach(() => {
  topic = `post:${crypto.randomUUID()}`
})

const upgrade = () => new Request('http://hub.test/live', { headers: { upgrade: 'websocket' } })
const nothing: LiveSnapshot = { comments: 0, working: [] }

/** A watcher and all messages that it receives. */
async function watch(of = topic, known = nothing) {
  const response = await live.connect(of, known, upgrade())
  const socket = response.webSocket
  if (!socket) throw new Error(`not a socket: ${response.status}`)
  const heard: Record<string, unknown>[] = []
  socket.addEventListener('message', ({ data }) => {
    heard.push(JSON.parse(String(data)))
  })
  socket.accept()
  await expect.poll(() => heard.length).toBeGreaterThan(0)
  return { heard, socket }
}

const comment: LiveEvent = { type: 'comment', id: 'c1', post_id: 'p1' }
const working = (doing: string | null): LiveEvent => ({
  type: 'working',
  activation_id: 'a1',
  agent: { id: 'g1', name: 'scout' },
  doing,
  since: 1,
})

/** Another topic that the same object has. */
function neighbourOf(of: string): string {
  for (let number = 0; ; number++) {
    const other = `post:neighbour-${number}`
    if (toLiveObjectName(other) === toLiveObjectName(of)) return other
  }
}

test('T10: sockets of an account, or of one of its keys, are closed at once on every topic', async () => {
  const open = async (of: string, id: string, keyId: string) => {
    const response = await live.connect(of, nothing, upgrade(), toWatcherTags({ id, keyId }, null))
    const socket = response.webSocket
    let code = 0
    socket?.addEventListener('close', (event) => {
      code = event.code
    })
    socket?.accept()
    return () => code
  }
  const [one, two] = [await open(topic, 'a1', 'k1'), await open(`${topic}-b`, 'a1', 'k2')]
  const other = await open(topic, 'a2', 'k3')
  await live.disconnect([keyTag('k1')])
  await expect.poll(() => one()).toBe(4403)
  expect([two(), other()]).toEqual([0, 0])
  await live.disconnect([accountTag('a1')])
  await expect.poll(() => two()).toBe(4403)
  await live.publish(topic, comment)
  expect(other()).toBe(0)
})

test('H16: every watcher of a topic receives its events, and watchers of other topics of the object do not', async () => {
  const neighbour = neighbourOf(topic)
  const [one, two, other] = [await watch(), await watch(), await watch(neighbour)]
  await live.publish(topic, comment)
  await expect.poll(() => two.heard).toHaveLength(2)
  expect(one.heard[1]).toEqual(comment)
  await live.publish(neighbour, { ...comment, id: 'c2' })
  await expect.poll(() => other.heard).toHaveLength(2)
  expect(other.heard[1]).toEqual({ ...comment, id: 'c2' })
  expect(one.heard).toHaveLength(2)
})

test('live: all topics share a few objects, evenly', () => {
  const counts = new Map<string, number>()
  for (let number = 0; number < 8_000; number++) {
    const name = toLiveObjectName(`post:${crypto.randomUUID()}`)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  expect(counts.size).toBe(liveLimits.objects)
  expect(Math.min(...counts.values())).toBeGreaterThan(800)
})

test('H16: a new watcher first receives the state in the database', async () => {
  const known: LiveSnapshot = {
    comments: 7,
    working: [{ activation_id: 'a7', agent: { id: 'g1', name: 'scout' }, since: 5 }],
  }
  expect((await watch(topic, known)).heard).toEqual([{ type: 'hello', ...known }])
})

test('H16: events published while the socket was opening are sent too', async () => {
  await live.publish(topic, working('reading the thread'))
  await live.publish(topic, working('searching the hub'))
  await live.publish(topic, comment)
  const { heard } = await watch()
  await expect.poll(() => heard).toHaveLength(3)
  expect(heard.slice(1)).toEqual([working('searching the hub'), comment])
})

test('live: publishing and watching write nothing', async () => {
  await live.publish(topic, working('reading the thread'))
  await live.publish(topic, comment)
  await watch()
  await runInDurableObject(namespace.getByName(toLiveObjectName(topic)), async (_object, state) => {
    expect([...(await state.storage.list()).keys()]).toEqual([])
    expect(await state.storage.getAlarm()).toBeNull()
  })
})

test('live: a publisher that fails is silent, because what it says is a hint', async () => {
  const broken = createLivePublisher({
    getByName: () => ({
      publish: () => Promise.reject(new Error('gone')),
    }),
  } as never)
  // whether anybody watches is unknown then
  await expect(broken.publish(topic, working('x'))).resolves.toBe(true)
})

test('live: a watcher that leaves does not disturb the others', async () => {
  const [one, two] = [await watch(), await watch()]
  one.socket.close()
  await live.publish(topic, comment)
  await expect.poll(() => two.heard).toHaveLength(2)
})

test('live: a plain request to a topic is rejected with 426', async () => {
  const response = await live.connect(topic, nothing, new Request('http://hub.test/live'))
  expect(response.status).toBe(426)
})
