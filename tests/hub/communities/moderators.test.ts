import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const api = createHubApi(() => hub.context())
let count = 0
type Member = Awaited<ReturnType<typeof hub.join>>
let olga: Member
let piet: Member
let name = ''

beforeEach(async () => {
  olga = await hub.join(`olga${++count}`, 'human')
  piet = await hub.join(`piet${count}`, 'human')
  name = `place-${count}`
  expect((await hub.call('/communities', { key: olga.key, body: { name } })).status).toBe(201)
})

const registerGuest = async (word: string) => {
  const { body } = await hub.call('/accounts', { body: { name: `${word}${++count}` } })
  return { name: body.account.name as string, key: body.account.api_key as string }
}
const set = (account: string, role: string, key = olga.key) =>
  hub.call(`/communities/${name}/members/${account}`, { key, method: 'PUT', body: { role } })
const remove = (account: string, key = olga.key) =>
  hub.call(`/communities/${name}/members/${account}`, { key, method: 'DELETE' })
const setRole = (account: string, role: string) =>
  hub.call(`/accounts/${account}/role`, { key: adminKey, method: 'PUT', body: { role } })
const moderators = async () =>
  (
    await env.DB.prepare(
      `SELECT a.name FROM community_members m JOIN accounts a ON a.id = m.account_id
        JOIN communities c ON c.id = m.community_id
        WHERE c.name = ? AND m.role = 'moderator' ORDER BY a.name`,
    )
      .bind(name)
      .all<{ name: string }>()
  ).results.map((row) => row.name)
const entries = async () =>
  env.DB.prepare(
    `SELECT count(*) AS n FROM admin_log WHERE target_id =
      (SELECT id FROM communities WHERE name = ?)`,
  )
    .bind(name)
    .first<number>('n')

test('T11: a guest is not made a moderator, by nobody', async () => {
  const gus = await registerGuest('gus')
  for (const key of [olga.key, adminKey]) {
    expect(await set(gus.name, 'moderator', key)).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT' },
    })
  }
  expect(await moderators()).toEqual([olga.name])
  expect(await entries()).toBe(0)
  expect((await set(gus.name, 'member')).status).toBe(200)
  await setRole(gus.name, 'member')
  expect((await set(gus.name, 'moderator')).status).toBe(200)
})

test('T11: the last moderator stays until another member is one, also when two leave at once', async () => {
  for (const refused of [await remove(olga.name), await set(olga.name, 'member')]) {
    expect(refused).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  }
  expect(await entries()).toBe(0)
  await set(piet.name, 'moderator')
  const left = await Promise.all([remove(olga.name), remove(piet.name, piet.key)])
  expect(left.map(({ status }) => status).sort()).toEqual([200, 409])
  expect(await moderators()).toHaveLength(1)
})

test('T11: an account that cannot moderate is no replacement; an admin removes the last one and takes over', async () => {
  await set(piet.name, 'moderator')
  await setRole(piet.name, 'guest')
  expect((await remove(olga.name)).status).toBe(409)
  await setRole(piet.name, 'member')
  await hub.call(`/accounts/${piet.name}/disable`, { key: adminKey, body: {} })
  expect((await remove(olga.name)).status).toBe(409)
  expect((await remove(olga.name, adminKey)).status).toBe(200)
  expect((await set(olga.name, 'moderator', adminKey)).status).toBe(200)
})

test('T20: what a guest describes is marked where agents find it, and only there a guest writes it', async () => {
  const gus = await registerGuest('gus')
  const about = (description: string) => ({ description })
  await hub.call('/me', { key: gus.key, method: 'PATCH', body: about('kumquats mine') })
  await hub.call('/me', { key: piet.key, method: 'PATCH', body: about('lychees mine') })
  const place = { name: `guests-${count}`, description: 'durians here' }
  await hub.call('/communities', { key: gus.key, body: place })
  const actor = {
    accountId: olga.id,
    name: olga.name,
    kind: 'agent' as const,
    activationId: null,
    idempotencyKey: null,
    postId: null,
  }
  const search = async (text: string) =>
    (await api.search(actor, { text, match: 'all', limit: 5 })).map(
      ({ isUntrusted }) => isUntrusted === true,
    )
  expect(await search('kumquats')).toEqual([true])
  expect(await search('durians')).toEqual([true])
  expect(await search('lychees')).toEqual([false])
  expect((await api.readProfile(actor, gus.name)).isUntrusted).toBe(true)
  // A moderator who became a guest describes no community that others take for a member's.
  const change = (key: string, description: string) =>
    hub.call(`/communities/${name}`, { key, method: 'PATCH', body: about(description) })
  await set(piet.name, 'moderator')
  await setRole(piet.name, 'guest')
  expect((await change(piet.key, 'rambutans')).status).toBe(403)
  expect(await search('rambutans')).toEqual([])
  const own = { key: gus.key, method: 'PATCH', body: about('mangosteens') }
  expect((await hub.call(`/communities/guests-${count}`, own)).status).toBe(200)
  expect(await search('mangosteens')).toEqual([true])
})
