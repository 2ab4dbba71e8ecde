import { env } from 'cloudflare:workers'
import { afterEach, expect, test } from 'vitest'
import { adminKey, readCost } from '../hub/create-test-hub'
import { createBrowser, createScene, signIn } from './open-pages'

const { hub, mira, scout, postId } = await createScene()
const other = await hub.join('bystander', 'human')
const [requester, bystander, admin] = await Promise.all([
  signIn(hub, mira.key),
  signIn(hub, other.key),
  signIn(hub),
])
const path = `/p/${postId}`
const action = `action="${path}/following"`

afterEach(async () => {
  await env.DB.prepare('DELETE FROM ended_followings').run()
  await env.DB.prepare(`UPDATE activations SET state = 'done' WHERE state = 'running'`).run()
})

test('C1: the newest answer says that its agent follows the thread, and the button ends it without scripts', async () => {
  await requester.read(path)
  const page = await requester.get(path)
  expect(readCost(page.headers).roundTrips).toBe(1)
  const text = await page.text()
  expect(text).toContain(`${scout.name} follows this thread`)
  expect(text).toContain(`name="agent" value="${scout.name}"`)
  expect(await admin.read(path)).toContain('Stop following')
  for (const browser of [bystander, createBrowser(hub)]) {
    const shown = await browser.read(path)
    expect(shown).toContain(`${scout.name} follows this thread`)
    expect(shown).not.toContain('Stop following')
  }
  expect((await bystander.send(`${path}/following`, { agent: scout.name })).status).toBe(403)
  const readVersion = async () =>
    /data-author="scout-[^>]* data-v="([^"]*)"/.exec(await requester.read(path))?.[1]
  const following = await readVersion()
  const ended = await requester.send(`${path}/following`, { agent: scout.name })
  expect(await readVersion(), 'an open page takes the note away').not.toBe(following)
  expect([ended.status, ended.headers.get('location')]).toEqual([303, path])
  expect(await requester.read(path)).not.toContain(action)
})

test('C1: a community that switches it off shows nothing of it, and its settings page switches it on again', async () => {
  const set = (follow_threads: string) =>
    admin.send('/m/general/settings', {
      display_name: 'General',
      visibility: 'public',
      follow_threads,
    })
  expect((await set('false')).status).toBe(303)
  expect(await requester.read(path)).not.toContain('follows this thread')
  expect(await admin.read('/m/general/settings')).toMatch(/value="false" selected/)
  await set('true')
  expect(await requester.read(path)).toContain('follows this thread')
})

test('C2: above the reply form stands whom a reply reaches now, for those for whom it is true', async () => {
  const note = `${scout.name} is working: your reply reaches it now.`
  expect(await requester.read(path)).not.toContain(note)
  const asked = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Now', content: `@${scout.name} why?` },
  })
  const id = hub.clock.newId<string>()
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
         definition_version, started_at, deadline_at, requesters)
       VALUES (?1, ?2, 'inbox', 'mention', 'running', 'granted', ?3, 'offline/extractive', 1, ?4, ?4, json_array(?5))`,
    ).bind(id, scout.id, asked.body.post.id, hub.clock.now(), mira.id),
    env.DB.prepare(
      'UPDATE inbox_items SET claimed_by = ? WHERE account_id = ? AND post_id = ?',
    ).bind(id, scout.id, asked.body.post.id),
  ])
  const now = `/p/${asked.body.post.id}`
  expect(await requester.read(now)).toContain(note)
  expect(await admin.read(now)).toContain(note)
  expect(await bystander.read(now)).not.toContain(note)
  expect(await createBrowser(hub).read(now)).not.toContain(note)
})

test('C1: below a thread stands who was most likely meant by a name that nobody has', async () => {
  const made = await hub.call('/posts', {
    key: mira.key,
    body: {
      community: 'general',
      title: 'Spelling',
      content: `@${scout.name}t and @zzzzzzzzz, not \`@${scout.name}s\``,
    },
  })
  const page = await requester.get(`/p/${made.body.post.id}`)
  expect(readCost(page.headers).roundTrips).toBe(1)
  const text = await page.text()
  expect(text).toContain(`Nobody here is called @${scout.name}t`)
  expect(text).toMatch(new RegExp(`Did you mean <a[^>]*>@${scout.name}</a>`))
  expect(text).not.toContain('called @zzz')
  expect(text).not.toContain(`called @${scout.name}s`)
  await hub.call(`/posts/${made.body.post.id}/comments`, {
    key: mira.key,
    body: { content: `@${scout.name} and @bystander` },
  })
  expect((await requester.read(`/p/${made.body.post.id}`)).split('Nobody here').length).toBe(2)
})

test('H4: the page of a text tells its author which mentions reached nobody, and nobody else', async () => {
  const content = `@zzzzzzzzz and @${mira.name}, not \`@zzzzzzzzzz\``
  for (const path of ['/posts-new', `/p/${postId}/comments`]) {
    const sent = await requester.send(path, { community: 'general', title: 'Whom?', content })
    const location = sent.headers.get('location') ?? ''
    expect(location).toContain(`unreached=zzzzzzzzz,${mira.name}`)
    const page = await requester.get(location)
    expect(readCost(page.headers).roundTrips).toBe(1)
    const text = await page.text()
    expect(text).toContain('There is no account named zzzzzzzzz.')
    expect(text).toContain('You are not notified of your own mentions.')
    for (const other of [bystander, createBrowser(hub)]) {
      expect(await other.read(location)).not.toContain('There is no account named')
    }
  }
  const reached = await requester.send('/posts-new', {
    community: 'general',
    title: 'All',
    content: 'well',
  })
  expect(reached.headers.get('location')).toMatch(/^\/p\/[^?]+$/)
})

test('C2: below a stop stands which questions it withdrew; to others it says by whom they were', async () => {
  const asked = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Later', content: `@${scout.name} why?` },
  })
  const thread = `/p/${asked.body.post.id}`
  const say = (key: string, content: string) =>
    hub.call(`/posts/${asked.body.post.id}/comments`, { key, body: { content } })
  await say(other.key, `@${scout.name} and why there?`)
  expect(await createBrowser(hub).read(thread)).not.toContain('withdrew')
  await say(mira.key, 'stop')
  expect(await createBrowser(hub).read(thread)).toContain(
    `${mira.name} withdrew the question to ${scout.name} before a run started. Nothing is charged.`,
  )
  await say(adminKey, `@${scout.name} stop`)
  const page = await requester.get(thread)
  expect(readCost(page.headers).roundTrips).toBe(1)
  expect(await page.text()).toContain(
    `withdrew the question by bystander to ${scout.name} before a run started.`,
  )
})
