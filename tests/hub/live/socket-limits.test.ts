import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLivePublisher } from '../../../src/hub/live/live-publisher'
import { liveLimits } from '../../../src/shared/config'
import { addressHeader, createTestHub } from '../create-test-hub'

const { socketsPerAccountMax, socketsPerAddressMax, recountMs } = liveLimits
let hub: ReturnType<typeof createTestHub>
let posts: string[]
let key: string
const sockets: Response[] = []

beforeEach(async () => {
  hub = createTestHub()
  restart()
  key = (await hub.join(`mira-${crypto.randomUUID().slice(0, 6)}`, 'human')).key
  posts = []
  for (let index = 0; index < 12; index++) {
    const body = { community: 'general', title: `Thread ${index}` }
    posts.push((await hub.call('/posts', { key, body })).body.post.id)
  }
})

afterEach(() => leave(sockets.splice(0)))

/** As in an isolate that has opened no socket yet. */
function restart() {
  Object.assign(hub.context().live, createLivePublisher(env.LIVE as never))
}

const asAccount = (of: string) => ({ authorization: `Bearer ${of}` })
const from = (address: string) => ({ [addressHeader]: address })

async function open(count: number, headers: Record<string, string>): Promise<Response[]> {
  const opened: Response[] = []
  for (let index = 0; index < count; index++) {
    // the class `connect` of rate limits is another limit
    hub.clock.advance(200)
    const path = `/live/posts/${posts[index % posts.length]}`
    opened.push(await hub.fetch(path, { headers: { upgrade: 'websocket', ...headers } }))
  }
  sockets.push(...opened)
  return opened
}

const statusesOf = (responses: Response[]) => new Set(responses.map(({ status }) => status))

function leave(responses: Response[]) {
  for (const { webSocket } of responses) {
    try {
      webSocket?.accept()
      webSocket?.close(1000)
    } catch {
      // It was accepted before.
    }
  }
}

test('T7: an account has 100 sockets on all threads and runs together; another one is refused with what to do', async () => {
  const opened = await open(300, asAccount(key))
  const accepted = opened.filter(({ status }) => status === 101)
  expect(accepted).toHaveLength(socketsPerAccountMax)
  expect(statusesOf(opened.slice(0, socketsPerAccountMax))).toEqual(new Set([101]))
  expect(statusesOf(opened.slice(socketsPerAccountMax))).toEqual(new Set([429]))
  const last = opened.at(-1)
  expect(last?.headers.get('retry-after')).toBe(String(recountMs / 1_000))
  expect(await last?.json()).toMatchObject({ code: 'RATE_LIMITED', hint: expect.any(String) })
  const other = await hub.join('lin', 'human')
  expect(statusesOf(await open(3, asAccount(other.key)))).toEqual(new Set([101]))
  leave(accepted)
  hub.clock.advance(recountMs)
  await expect.poll(async () => (await open(1, asAccount(key)))[0]?.status).toBe(101)
})

test('T7: sockets on runs count too', async () => {
  const { id } = await hub.join('scout')
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
       definition_version, started_at, deadline_at)
     VALUES (?1, ?2, 'inbox', 'mention', 'running', 'granted', ?3, 'offline/extractive', 1, 7, ?4)`,
  )
    .bind(hub.clock.newId(), id, posts[0], hub.clock.now() + 10_000_000)
    .run()
  hub.seen.countSockets = async () => 40
  const first = await open(socketsPerAccountMax, asAccount(key))
  leave(first.slice(0, 50))
  const [before] = await open(1, asAccount(key))
  expect(before?.status, 'fifty on threads and forty on runs').toBe(101)
  hub.seen.countSockets = async () => 49
  expect(statusesOf(await open(socketsPerAccountMax, asAccount(key)))).toEqual(new Set([101, 429]))
})

test('T7: without an account the address counts', async () => {
  const opened = await open(socketsPerAddressMax + 5, from('203.0.113.5'))
  expect(opened.filter(({ status }) => status === 101)).toHaveLength(socketsPerAddressMax)
  expect(statusesOf(await open(1, from('203.0.113.6')))).toEqual(new Set([101]))
})

test('T7: where many isolates open sockets, each object refuses what is over the limit', async () => {
  posts = posts.slice(0, 1)
  const accepted: Response[] = []
  for (let isolate = 0; isolate < 3; isolate++) {
    restart()
    const opened = await open(60, asAccount(key))
    accepted.push(...opened.filter(({ status }) => status === 101))
  }
  expect(accepted).toHaveLength(socketsPerAccountMax)
})

test('T7: a watcher that sends a message is closed, and one that pings is not', async () => {
  const [pinging, sending] = await open(2, asAccount(key))
  const codes: number[] = []
  const heard: unknown[] = []
  for (const response of [pinging, sending]) {
    response?.webSocket?.addEventListener('close', ({ code }) => void codes.push(code))
    response?.webSocket?.addEventListener('message', ({ data }) => void heard.push(data))
    response?.webSocket?.accept()
  }
  pinging?.webSocket?.send('ping')
  await expect.poll(() => heard).toContain('pong')
  sending?.webSocket?.send('{"type":"hello"}')
  await expect.poll(() => codes).toEqual([1008])
})
