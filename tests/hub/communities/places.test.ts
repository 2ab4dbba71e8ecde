import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { LoadedActivation } from '../../../src/hub/contract/hub'
import type { AccountId, ActivationId, PostId } from '../../../src/shared/ids'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const api = createHubApi(() => hub.context())
const canary = 'quincequince'

type Member = Awaited<ReturnType<typeof hub.join>>
let [olga, piet, mem, scout, wren]: Member[] = []
let gus: { key: string }
let postId: PostId

const of = (member: Member | undefined): Member => {
  if (!member) throw new Error('The account was not created.')
  return member
}
const post = async (by: Member, community: string, text: string) => {
  hub.clock.advance(1_000)
  const body = { community, title: `About ${text}`, content: text }
  return hub.call('/posts', { key: by.key, body })
}
const setMember = (name: string, key = of(olga).key, role = 'member') =>
  hub.call(`/communities/cellar/members/${name}`, { key, method: 'PUT', body: { role } })
const lastEntry = () =>
  env.DB.prepare(
    'SELECT action, account_id, after FROM admin_log ORDER BY rowid DESC LIMIT 1',
  ).first()

async function load(agentId: AccountId): Promise<LoadedActivation> {
  hub.clock.advance(1_000)
  const activationId = hub.clock.newId<ActivationId>()
  const now = hub.clock.now()
  const loaded = await api.load({ agentId, activationId, now, capacity: 50, canExplore: false })
  if (loaded.kind !== 'loaded') throw new Error(`Not loaded: ${loaded.kind}`)
  return loaded
}
const running = async (agentId: AccountId): Promise<ActivationId> => {
  const row = await env.DB.prepare(
    `SELECT id FROM activations WHERE agent_id = ? AND state = 'running'`,
  )
    .bind(agentId)
    .first<{ id: ActivationId }>()
  if (!row) throw new Error('Nothing runs.')
  return row.id
}
const end = (agentId: AccountId) =>
  env.DB.prepare(`UPDATE activations SET state = 'done' WHERE agent_id = ?`).bind(agentId).run()
const toActor = (agent: Member, activationId: ActivationId) => ({
  accountId: agent.id,
  name: agent.name,
  kind: 'agent' as const,
  activationId,
  idempotencyKey: null,
  postId: null,
})
const search = { text: canary, match: 'any', limit: 20 } as const

beforeAll(async () => {
  await hub.createWindows()
  olga = await hub.join('olga', 'human')
  piet = await hub.join('piet', 'human')
  mem = await hub.join('mem', 'human')
  scout = await hub.join('scout')
  wren = await hub.join('wren')
  for (const { id } of [scout, wren]) await hub.host(id)
  gus = { key: (await hub.call('/accounts', { body: { name: 'gus' } })).body.account.api_key }
  const body = { name: 'cellar', visibility: 'private' }
  expect((await hub.call('/communities', { key: olga.key, body })).status).toBe(201)
  for (const name of ['piet', 'scout']) expect((await setMember(name)).status).toBe(200)
  postId = (await post(olga, 'cellar', canary)).body.post.id
})

test('T21: who creates a community moderates it; guests create public ones only', async () => {
  const created = await hub.call('/communities/cellar', { key: of(olga).key })
  expect(created.body).toMatchObject({ your_role: 'owner', can_read: true })
  const { body } = await hub.call('/communities/cellar/members', { key: of(piet).key })
  expect(body.members.map(({ role }: { role: string }) => role)).toEqual([
    'moderator',
    'member',
    'member',
  ])
  for (const [visibility, status] of [
    ['members', 403],
    ['public', 201],
  ] as const) {
    const of = { key: gus.key, body: { name: `g-${visibility}`, visibility } }
    expect((await hub.call('/communities', of)).status).toBe(status)
  }
})

test('T21: moderators and members change what they may; each change is in the admin log', async () => {
  expect((await setMember('mem', of(piet).key)).status).toBe(403)
  expect((await setMember('mem', of(mem).key)).status).toBe(404)
  expect((await setMember('piet', of(olga).key, 'moderator')).status).toBe(200)
  expect((await setMember('mem', of(piet).key)).status).toBe(200)
  expect(await lastEntry()).toMatchObject({ action: 'community.member', account_id: of(piet).id })
  expect((await hub.call(`/posts/${postId}`, { key: of(mem).key })).status).toBe(200)
  const leave = { key: of(mem).key, method: 'DELETE' }
  expect((await hub.call('/communities/cellar/members/mem', leave)).status).toBe(200)
  expect((await hub.call(`/posts/${postId}`, { key: of(mem).key })).status).toBe(404)
})

test('T21: an admin reads a private community after adding themselves, which the admin log shows', async () => {
  const feed = () => hub.call('/communities/cellar/feed', { key: adminKey })
  expect((await hub.call('/communities/cellar', { key: adminKey })).body.can_read).toBe(false)
  expect((await feed()).status).toBe(404)
  expect((await setMember('mem', adminKey)).status).toBe(403)
  const open = { key: adminKey, method: 'PATCH', body: { visibility: 'public' } }
  expect((await hub.call('/communities/cellar', open)).status).toBe(403)
  expect((await setMember('admin', adminKey)).status).toBe(200)
  expect(await lastEntry()).toMatchObject({ action: 'community.member' })
  expect((await feed()).status).toBe(200)
  const leave = { key: adminKey, method: 'DELETE' }
  await hub.call('/communities/cellar/members/admin', leave)
})

test('T21: a mention notifies those who read; the author learns which agent does not', async () => {
  hub.clock.advance(1_000)
  const body = { content: `@mem @piet @wren ${canary} what is this?` }
  const answer = await hub.call(`/posts/${postId}/comments`, { key: of(olga).key, body })
  const reason = 'It does not read this community. A moderator can add it as a member.'
  expect(answer.body.not_woken).toEqual([
    { name: 'mem', reason },
    { name: 'wren', reason },
  ])
  const inboxOf = async (key: string) => (await hub.call('/inbox', { key })).body.items.length
  expect(await inboxOf(of(piet).key)).toBe(1)
  expect(await inboxOf(of(mem).key)).toBe(0)
  expect(await inboxOf(of(wren).key)).toBe(0)
  expect((await hub.call('/inbox/count', { key: of(wren).key })).body.unread_count).toBe(0)
  const page = await (
    await hub.fetch(`/p/${postId}`, { headers: { authorization: `Bearer ${of(olga).key}` } })
  ).text()
  expect(page).toContain('It does not read this community.')
})

test('T21: a run reads what its agent, its requesters and its thread may, and its data stays there', async () => {
  const agent = of(scout)
  hub.clock.advance(1_000)
  const ask = { content: '@scout what is this?' }
  await hub.call(`/posts/${postId}/comments`, { key: of(olga).key, body: ask })
  const inCellar = await load(agent.id)
  expect(inCellar.thread?.post.content).toContain(canary)
  expect(inCellar.closed?.name).toBe('cellar')
  expect(await api.search(toActor(agent, await running(agent.id)), search)).not.toEqual([])
  expect((await api.findActivation(await running(agent.id)))?.closed?.name).toBe('cellar')
  await end(agent.id)

  // In a public thread it reads nothing of the cellar, although olga and the agent are members.
  await post(of(olga), 'general', '@scout what else?')
  const inPublic = await load(agent.id)
  expect(inPublic.closed).toBeUndefined()
  const actor = toActor(agent, await running(agent.id))
  expect(await api.search(actor, search)).toEqual([])
  await expect(api.readThread(actor, postId, 10)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const comment = { postId, parentId: null, content: 'Hello' }
  await expect(api.createComment(actor, comment)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await end(agent.id)
})

test('T21: a task in a community that its requester left brings the run nothing', async () => {
  const agent = of(scout)
  hub.clock.advance(1_000)
  const ask = { content: `@scout ${canary} once more?` }
  await hub.call(`/posts/${postId}/comments`, { key: of(piet).key, body: ask })
  const leave = { key: of(piet).key, method: 'DELETE' }
  expect((await hub.call('/communities/cellar/members/piet', leave)).status).toBe(200)
  const loaded = await load(agent.id)
  expect(loaded.thread).toBeNull()
  expect(JSON.stringify(loaded)).not.toContain(canary)
  await end(agent.id)
})

test('T21: a run in a private community shows its texts to readers only', async () => {
  const agent = of(scout)
  // mem wrote the definition, and would see the whole run in a public thread
  await env.DB.prepare(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'e', ?, 0)`,
  )
    .bind(agent.id, of(mem).id)
    .run()
  hub.clock.advance(1_000)
  await hub.call(`/posts/${postId}/comments`, { key: of(olga).key, body: { content: '@scout?' } })
  await load(agent.id)
  const path = `/activations/${await running(agent.id)}`
  const titleFor = async (key: string) => (await hub.call(path, { key })).body.activation.post_title
  expect(await titleFor(of(olga).key)).toContain(canary)
  expect(await titleFor(of(mem).key)).toBeNull()
  expect((await hub.call(path, { key: of(mem).key })).body.is_redacted).toBe(true)
  expect((await hub.call(path, { key: adminKey })).body.is_redacted).toBe(true)
  expect(await titleFor(adminKey)).toBeNull()
})

test('T21: a hub with only public communities reads no more rows', async () => {
  const page = async () => {
    await hub.call('/feed')
    return readCost((await hub.call('/feed')).headers).rowsRead
  }
  const closed = await page()
  await env.DB.prepare(`UPDATE communities SET visibility = 'public'`).run()
  const { body } = await hub.call('/feed')
  // a post, its community and its author, each by an index
  expect(await page()).toBeLessThanOrEqual(body.posts.length * 3 + 6)
  expect(closed).toBeLessThan(body.posts.length * 3 + 60)
  await env.DB.prepare(`UPDATE communities SET visibility = 'private' WHERE name = 'cellar'`).run()
})
