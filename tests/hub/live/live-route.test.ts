import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { createLivePublisher } from '../../../src/hub/live/live-publisher'
import { createScene, form } from '../../web/open-pages'
import { adminKey, createTestHub, type TestHub } from '../create-test-hub'

const upgrade = { upgrade: 'websocket' }

async function openScene() {
  const scene = await createScene()
  Object.assign(scene.hub.context().live, createLivePublisher(env.LIVE as never))
  return scene
}

test('H16: a viewer who can read a post can watch it, and receives a reply', async () => {
  const { hub, mira, postId } = await openScene()
  const response = await hub.fetch(`/live/posts/${postId}`, { headers: upgrade })
  expect(response.status).toBe(101)
  const heard: string[] = []
  response.webSocket?.addEventListener('message', ({ data }) => {
    heard.push(String(data))
  })
  response.webSocket?.accept()
  const { body } = await hub.call(`/posts/${postId}/comments`, {
    key: mira.key,
    body: { content: 'news' },
  })
  await expect.poll(() => heard.join('\n')).toContain(body.comment.id)
})

test('H16: the first message of a socket has the number of comments and the running activations in the database', async () => {
  const { hub, scout, mira, postId } = await openScene()
  await hub.call(`/posts/${postId}/comments`, { key: mira.key, body: { content: 'one' } })
  const running = hub.clock.newId<string>()
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
       definition_version, started_at, deadline_at)
     VALUES (?1, ?2, 'inbox', 'mention', 'running', 'granted', ?3, 'offline/extractive', 1, 7, ?4)`,
  )
    .bind(running, scout.id, postId, hub.clock.now() + 1_000_000)
    .run()
  const response = await hub.fetch(`/live/posts/${postId}`, { headers: upgrade })
  const heard: string[] = []
  response.webSocket?.addEventListener('message', ({ data }) => {
    heard.push(String(data))
  })
  response.webSocket?.accept()
  await expect.poll(() => heard.length).toBeGreaterThan(0)
  expect(JSON.parse(heard[0] ?? '')).toEqual({
    type: 'hello',
    comments: 1,
    working: [{ activation_id: running, agent: { id: scout.id, name: scout.name }, since: 7 }],
  })
})

describe('the feed', () => {
  const listenToFeed = async (hub: TestHub, headers = {}) => {
    const response = await hub.fetch('/live/feed', { headers: { ...upgrade, ...headers } })
    expect(response.status).toBe(101)
    const heard: string[] = []
    response.webSocket?.addEventListener('message', ({ data }) => {
      heard.push(String(data))
    })
    response.webSocket?.accept()
    await expect.poll(() => heard[0]).toContain('hello')
    return heard
  }

  test('H16: a new post is announced by its id, and the first message names the newest', async () => {
    const { hub, mira } = await openScene()
    hub.clock.advance(60_000)
    const write = async (title: string) => {
      const body = { community: 'general', title }
      return (await hub.call('/posts', { key: mira.key, body })).body.post.id
    }
    const newest = await write('Plums')
    const heard = await listenToFeed(hub)
    expect(JSON.parse(heard[0] ?? '')).toEqual({ type: 'hello', newest })
    const id = await write('Fresh plums')
    await expect
      .poll(() => heard.map((each) => JSON.parse(each)))
      .toContainEqual({ type: 'post', id })
  })

  test('H15: a post in a community that not everybody reads, or that is muted, is announced to nobody', async () => {
    const { hub, mira } = await openScene()
    const communities = ['members', 'private'].map((visibility) => ({
      name: `for-${visibility}`,
      display_name: visibility,
      visibility,
    }))
    for (const body of communities) {
      expect((await hub.call('/communities', { key: mira.key, body })).status).toBe(201)
    }
    const heard = await listenToFeed(hub, { authorization: `Bearer ${mira.key}` })
    const hidden: string[] = []
    for (const community of [...communities.map(({ name }) => name), 'agent-learnings']) {
      const answer = await hub.call('/posts', {
        key: mira.key,
        body: { community, title: 'Hidden plums' },
      })
      hidden.push(answer.body.post.id)
    }
    // an announced one comes last, so what was announced before it has arrived
    const body = { community: 'general', title: 'The last' }
    const { body: last } = await hub.call('/posts', { key: mira.key, body })
    await expect.poll(() => heard.join('\n')).toContain(last.post.id)
    expect(hidden.filter((id) => heard.join('\n').includes(id))).toEqual([])
    expect(new Set(hidden).size).toBe(3)
  })

  test('who watches no feed costs a post no call, and a plain request gets the reason', async () => {
    const { hub, mira } = await openScene()
    await env.DB.prepare('DELETE FROM live_objects').run()
    const published: string[] = []
    Object.assign(hub.context().live, {
      publish: async (topic: string) => published.push(topic) > 0,
    })
    await hub.call('/posts', { key: mira.key, body: { community: 'general', title: 'Alone' } })
    expect(published).toEqual([])
    expect((await hub.fetch('/live/feed')).status).toBe(426)
  })
})

test('live: an unknown post cannot be watched, and a plain request gets the reason', async () => {
  const { hub, postId } = await openScene()
  expect((await hub.fetch('/live/posts/nope', { headers: upgrade })).status).toBe(404)
  expect((await hub.fetch(`/live/posts/${postId}`)).status).toBe(426)
})

test('live: another site cannot open a socket with a user’s session', async () => {
  const { hub, mira, postId } = await openScene()
  const signedIn = await hub.fetch('/login', form({ key: mira.key }))
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const from = (origin: string) =>
    hub.fetch(`/live/posts/${postId}`, { headers: { ...upgrade, cookie, origin } })
  expect((await from('https://evil.example')).status).toBe(403)
  expect((await from('http://hub.test')).status).toBe(101)
})

test('live: another site cannot open a socket without a session either; programs say no origin', async () => {
  const { hub, postId, activationId } = await openScene()
  for (const path of [`/live/posts/${postId}`, `/live/activations/${activationId}`]) {
    const from = async (headers: Record<string, string>) =>
      (await hub.fetch(path, { headers: { ...upgrade, ...headers } })).status
    expect(await from({ origin: 'https://evil.example' })).toBe(403)
    expect(await from({ origin: 'null' })).toBe(403)
    expect(await from({ origin: 'http://hub.test' })).toBe(101)
    expect(await from({})).toBe(101)
  }
})

test('live: a private hub lets no stranger watch', async () => {
  const { postId } = await openScene()
  const closed = createTestHub({ ROOKERY_PUBLIC: 'false' })
  expect((await closed.fetch(`/live/posts/${postId}`, { headers: upgrade })).status).toBe(401)
})

test('L22 M9: whoever may read an activation may watch it, in full who may see inside', async () => {
  const { hub, mira, scout, postId } = await openScene()
  const activationId = hub.clock.newId<string>()
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
       definition_version, started_at, deadline_at)
     VALUES (?1, ?2, 'inbox', 'mention', 'running', 'granted', ?3, 'm', 1, 7, 9)`,
  )
    .bind(activationId, scout.id, postId)
    .run()
  const watched: unknown[] = []
  hub.seen.watch = async (agentId, what) => {
    watched.push({ agentId, ...what })
    return new Response('watched')
  }
  const path = `/live/activations/${activationId}`
  expect((await hub.fetch(path, { headers: upgrade })).status).toBe(200)
  const asAdmin = { ...upgrade, authorization: `Bearer ${adminKey}` }
  await hub.fetch(`${path}?after=7&view=full`, { headers: asAdmin })
  await hub.fetch(`${path}?after=x&view=everything`, { headers: upgrade })
  const first = { agentId: scout.id, activationId, after: 0, view: 'thread' }
  expect(watched).toMatchObject([first, { ...first, after: 7, view: 'full' }, first])
  const signedIn = await hub.fetch('/login', form({ key: mira.key }))
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const evil = { ...upgrade, cookie, origin: 'https://evil.example' }
  expect((await hub.fetch(path, { headers: evil })).status).toBe(403)
  const closed = createTestHub({ ROOKERY_PUBLIC: 'false' })
  expect((await closed.fetch(path, { headers: upgrade })).status).toBe(401)
  expect(watched).toHaveLength(3)
})
