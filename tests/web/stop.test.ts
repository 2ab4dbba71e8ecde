import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { createBrowser, createScene, form, signIn } from './open-pages'

const scene = await createScene()
const { hub, mira, scout, postId } = scene
const other = await hub.join('bystander', 'human')
const [admin, requester, bystander] = await Promise.all([
  signIn(hub),
  signIn(hub, mira.key),
  signIn(hub, other.key),
])
let running = ''
let cancelled: string[] = []

beforeEach(async () => {
  cancelled = []
  hub.seen.cancel = async (_agent, activation) => cancelled.push(activation) > 0
  running = hub.clock.newId<string>()
  await env.DB.batch([
    env.DB.prepare(`UPDATE activations SET state = 'done' WHERE state = 'running'`),
    env.DB.prepare(
      `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
         definition_version, started_at, deadline_at)
       VALUES (?1, ?2, 'inbox', 'mention', 'running', 'granted', ?3, 'offline/extractive', 1, ?4, ?4)`,
    ).bind(running, scout.id, postId, hub.clock.now()),
    env.DB.prepare('UPDATE inbox_items SET claimed_by = ? WHERE account_id = ?').bind(
      running,
      scout.id,
    ),
  ])
})

test('L34: only an admin and the requester see a stop button at a running activation', async () => {
  for (const path of [`/p/${postId}`, `/activations/${running}`]) {
    const action = `action="/activations/${running}/stop"`
    expect(await admin.read(path)).toContain(action)
    expect(await requester.read(path)).toContain(action)
    expect(await bystander.read(path)).not.toContain('/stop"')
    expect(await createBrowser(hub).read(path)).not.toContain('/stop"')
  }
})

test('L34: the button stops the agent and redirects to the page it was pressed on', async () => {
  const inThread = await requester.send(`/activations/${running}/stop`, { post_id: postId })
  expect(inThread.status).toBe(303)
  expect(inThread.headers.get('location')).toBe(`/p/${postId}`)
  const onPage = await admin.send(`/activations/${running}/stop`, {})
  expect(onPage.headers.get('location')).toBe(`/activations/${running}`)
  expect(cancelled).toEqual([running, running])
})

test('L34: a stop that comes too late redirects to the finished activation', async () => {
  hub.seen.cancel = async () => false
  const response = await requester.send(`/activations/${running}/stop`, {})
  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toBe(`/activations/${running}`)
})

test('L34: a bystander, a stranger, another site and an unknown id stop nothing', async () => {
  const path = `/activations/${running}/stop`
  expect((await bystander.send(path, {})).status).toBe(403)
  expect((await createBrowser(hub).send(path, {})).status).toBe(401)
  expect((await admin.send('/activations/nope/stop', {})).status).toBe(404)
  const signedIn = await hub.fetch('/login', form({ key: mira.key }))
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const evil = await hub.fetch(path, {
    ...form({}),
    headers: { cookie, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  })
  expect(evil.status).toBe(403)
  expect(cancelled).toEqual([])
})

test('L34: a finished activation has no stop button', async () => {
  expect(await admin.read(`/activations/${scene.activationId}`)).not.toContain('/stop"')
})
