import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createLivePublisher } from '../../../src/hub/live/live-publisher'
import { liveLimits } from '../../../src/shared/config'
import { form } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const publisher = createLivePublisher(env.LIVE as never)
const live = Object.assign(hub.context().live, publisher)
/** A socket can be opened again after this time. */
const patience = { timeout: liveLimits.closedMs + 60_000, interval: 200 }

type Member = Awaited<ReturnType<typeof hub.join>>
let count = 0
let olga: Member
let mem: Member
let community = ''
let postId = ''

const until = (check: () => void) => vi.waitFor(check, { timeout: 120_000 })
const call = async (path: string, options: Parameters<typeof hub.call>[1]) => {
  const answer = await hub.call(path, options)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}
const post = async (name: string): Promise<string> => {
  hub.clock.advance(1_000)
  const body = { community: name, title: 'A title', content: 'A text' }
  return (await call('/posts', { key: olga.key, body })).post.id
}
const comment = async (id = postId): Promise<string> => {
  hub.clock.advance(1_000)
  const body = { content: `news ${++count}` }
  return (await call(`/posts/${id}/comments`, { key: olga.key, body })).comment.id
}
const asKey = ({ key }: { key: string }) => ({ authorization: `Bearer ${key}` })
const bySession = async (key: string) => {
  const response = await hub.fetch('/login', form({ key }))
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
  return { cookie, origin: 'http://hub.test', 'sec-fetch-site': 'same-origin' }
}
const open = (id: string, headers: Record<string, string>) =>
  hub.fetch(`/live/posts/${id}`, { headers: { upgrade: 'websocket', ...headers } })

/** A watcher of a thread, what it received, and the code it was closed with; 0 while it is open. */
async function watch(id: string, headers: Record<string, string>) {
  const { status, webSocket } = await open(id, headers)
  expect(status).toBe(101)
  const heard: string[] = []
  let code = 0
  webSocket?.addEventListener('message', ({ data }) => heard.push(String(data)))
  webSocket?.addEventListener('close', (event) => {
    code = event.code
  })
  webSocket?.accept()
  await until(() => expect(heard.length).toBeGreaterThan(0))
  return { heard, code: () => code }
}
const isClosed = (watcher: { code(): number }) => until(() => expect(watcher.code()).toBe(4403))

const create = async (visibility: string) => {
  const name = `place-${++count}`
  await call('/communities', { key: olga.key, body: { name, visibility } })
  return name
}
const remove = (name = mem.name) =>
  call(`/communities/${community}/members/${name}`, { key: adminOf(), method: 'DELETE' })
const adminOf = () => olga.key

beforeAll(async () => {
  olga = await hub.join('olga', 'human')
})
beforeEach(async () => {
  Object.assign(live, publisher)
  mem = await hub.join(`mem${++count}`, 'human')
  community = await create('private')
  await call(`/communities/${community}/members/${mem.name}`, {
    key: olga.key,
    method: 'PUT',
    body: {},
  })
  postId = await post(community)
})

test('T10 T21: who is removed from a community is disconnected from its threads, and from no others', async () => {
  const elsewhere = await watch(await post('general'), asKey(mem))
  const [inside, owner] = [await watch(postId, asKey(mem)), await watch(postId, asKey(olga))]
  await remove()
  await isClosed(inside)
  const id = await comment()
  await until(() => expect(owner.heard.join()).toContain(id))
  expect(inside.heard.join()).not.toContain(id)
  expect([elsewhere.code(), owner.code()]).toEqual([0, 0])
  expect((await open(postId, asKey(mem))).status).toBe(404)
})

test('T21: no event after the change reaches who was removed, although closing is slow', async () => {
  const [inside, owner] = [await watch(postId, asKey(mem)), await watch(postId, asKey(olga))]
  let isRemoved = false
  const isListed = async () =>
    (await env.DB.prepare('SELECT 1 FROM community_members WHERE account_id = ?')
      .bind(mem.id)
      .first()) !== null
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  live.disconnect = async (tags) => {
    // What closes after the change comes late.
    if (!(await isListed())) {
      isRemoved = true
      await released
    }
    await publisher.disconnect(tags)
  }
  const removing = remove()
  await until(() => expect(isRemoved).toBe(true))
  const id = await comment()
  await until(() => expect(owner.heard.join()).toContain(id))
  expect(inside.heard.join()).not.toContain(id)
  release()
  await removing
})

test('T21: a socket that was allowed before the change and opens after it is refused', async () => {
  let isWaiting = false
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  live.connect = async (...of) => {
    isWaiting = true
    await released
    return publisher.connect(...of)
  }
  const opening = open(postId, asKey(mem))
  await until(() => expect(isWaiting).toBe(true))
  await remove()
  release()
  expect((await opening).status).toBe(503)
})

test('T21: who no longer reads a community that became private is disconnected; its members connect again', {
  timeout: 30_000,
}, async () => {
  community = await create('public')
  postId = await post(community)
  const [stranger, nobody, member] = [
    await watch(postId, asKey(mem)),
    await watch(postId, {}),
    await watch(postId, asKey(olga)),
  ]
  const change = (visibility: string) =>
    call(`/communities/${community}`, { key: olga.key, method: 'PATCH', body: { visibility } })
  await change('private')
  for (const each of [stranger, nobody, member]) await isClosed(each)
  expect((await open(postId, asKey(mem))).status).toBe(404)
  await vi.waitFor(async () => expect((await open(postId, asKey(olga))).status).toBe(101), patience)
  const again = await watch(postId, asKey(olga))
  await change('members')
  const id = await comment()
  await until(() => expect(again.heard.join()).toContain(id))
})

test('T10 T21: a changed role disconnects the account and the agents that it claimed', async () => {
  const forMembers = await post(await create('members'))
  const kit = await hub.join(`kit${count}`)
  await env.DB.prepare('UPDATE accounts SET owner_id = ?1 WHERE id = ?2').bind(mem.id, kit.id).run()
  const watchers = [await watch(forMembers, asKey(mem)), await watch(forMembers, asKey(kit))]
  const other = await watch(forMembers, asKey(olga))
  await call(`/accounts/${mem.name}/role`, {
    key: adminKey,
    method: 'PUT',
    body: { role: 'guest' },
  })
  for (const each of watchers) await isClosed(each)
  expect(other.code()).toBe(0)
  expect((await open(forMembers, asKey(kit))).status).toBe(404)
})

test.each([
  ['disable', {}],
  ['bans', { kind: 'ban', reason: 'Spam' }],
])('T10: what ends the access of an owner ends that of their agents: %s', async (action, body) => {
  const kit = await hub.join(`kit${count}`)
  await env.DB.prepare('UPDATE accounts SET owner_id = ?1 WHERE id = ?2').bind(mem.id, kit.id).run()
  const id = await post('general')
  const watchers = [await watch(id, asKey(mem)), await watch(id, asKey(kit))]
  await call(`/accounts/${mem.name}/${action}`, { key: adminKey, body })
  for (const each of watchers) await isClosed(each)
})

test('T10 H2: a key that its user deletes closes the sockets of the key and of its sessions', async () => {
  const id = await post('general')
  const { key } = await call('/me/keys', { key: mem.key, body: {} })
  const watchers = [
    await watch(id, asKey({ key: key.api_key })),
    await watch(id, await bySession(key.api_key)),
  ]
  const other = await watch(id, asKey(mem))
  await call(`/me/keys/${key.id}`, { key: mem.key, method: 'DELETE' })
  for (const each of watchers) await isClosed(each)
  expect(other.code()).toBe(0)
})

test('T9 T10: a session that its user ends closes its sockets', async () => {
  const id = await post('general')
  const [here, there, last] = [
    await bySession(mem.key),
    await bySession(mem.key),
    await bySession(mem.key),
  ]
  const send = (path: string, fields: Record<string, string>) => {
    const init = form(fields)
    const headers = { ...(init.headers as Record<string, string>), ...here }
    return hub.fetch(path, { ...init, headers })
  }
  const watchers = [await watch(id, there), await watch(id, last)]
  const mine = await watch(id, here)
  const { results } = await env.DB.prepare(
    `SELECT id FROM api_keys WHERE account_id = ? AND kind = 'session' ORDER BY rowid`,
  )
    .bind(mem.id)
    .all<{ id: string }>()
  expect(results).toHaveLength(3)
  expect((await send('/settings/sessions/end', { id: results[1]?.id ?? '' })).status).toBe(303)
  expect((await send('/settings/sessions/end-others', {})).status).toBe(303)
  for (const each of watchers) await isClosed(each)
  expect(mine.code()).toBe(0)
  expect((await send('/logout', {})).status).toBe(303)
  await isClosed(mine)
})
