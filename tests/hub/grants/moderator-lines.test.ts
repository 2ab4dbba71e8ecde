import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const hubApi = createHubApi(hub.context)
const scout = await hub.join('scout')
await hub.host(scout.id)
await env.DB.prepare(`UPDATE agents SET grants = '["*"]'`).run()
const [gil, mo, mira] = [
  await hub.join('gil', 'human'),
  await hub.join('mo', 'human'),
  await hub.join('mira', 'human'),
]

const setPolicy = (allowed: string[], query = '') =>
  hub.call(`/agents/scout/grants${query}`, { method: 'PUT', key: adminKey, body: { allowed } })
const member = (method: string, name: string, role?: string, community = 'garden') =>
  hub.call(`/communities/${community}/members/${name}`, {
    method,
    key: adminKey,
    ...(role && { body: { role } }),
  })

/** What scout may do in a run for accounts. */
const allowedFor = async (...requesters: string[]): Promise<string[]> => {
  const id = crypto.randomUUID()
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, requesters)
     VALUES (?, ?, 'inbox', 'mention', 'parked', 'full', 'offline/extractive', 1, 0, 0, ?)`,
  )
    .bind(id, scout.id, JSON.stringify(requesters))
    .run()
  return (await hubApi.readPolicy(scout.id, id as Parameters<typeof hubApi.readPolicy>[1])).allowed
}

beforeAll(async () => {
  for (const name of ['garden', 'pond']) {
    await hub.call('/communities', { key: adminKey, body: { name } })
  }
  await member('PUT', 'gil', 'moderator')
  await hub.call('/accounts/mo/moderator', {
    method: 'PUT',
    key: adminKey,
    body: { is_moderator: true },
  })
})

const lines = ['hub:read', 'github:write for moderators of m/garden']

test('T1: a line for moderators of a community holds for those who may moderate it, at each call', async () => {
  expect((await setPolicy(lines)).status).toBe(200)
  const whole = ['hub:read', 'github:write']
  expect(await allowedFor(gil.id)).toEqual(whole)
  expect(await allowedFor(mo.id)).toEqual(whole)
  expect(await allowedFor('00000000-0000-7000-8000-000000000002')).toEqual(whole)
  expect(await allowedFor(mira.id)).toEqual(['hub:read'])
  expect(await allowedFor(gil.id, mo.id)).toEqual(whole)
  expect(await allowedFor(gil.id, mira.id)).toEqual(['hub:read'])
  // The moderators of one community are not those of another.
  await setPolicy(['github:write for moderators of m/pond'])
  expect(await allowedFor(gil.id)).toEqual([])
  await setPolicy(lines)
  await member('PUT', 'gil', 'member')
  expect(await allowedFor(gil.id)).toEqual(['hub:read'])
  await member('PUT', 'gil', 'moderator')
  expect(await allowedFor(gil.id)).toEqual(whole)
  await hub.call('/accounts/gil/role', { method: 'PUT', key: adminKey, body: { role: 'guest' } })
  expect(await allowedFor(gil.id)).toEqual([])
  await hub.call('/accounts/gil/role', { method: 'PUT', key: adminKey, body: { role: 'member' } })
  await hub.call('/accounts/mo/moderator', {
    method: 'PUT',
    key: adminKey,
    body: { is_moderator: false },
  })
  expect(await allowedFor(mo.id)).toEqual(['hub:read'])
})

test('T1: a line for the moderators of a community that does not exist is refused, with its line', async () => {
  const refused = await setPolicy(['hub:read', 'github:* for moderators of m/nowhere'])
  expect([refused.status, refused.body.details]).toEqual([
    400,
    [{ path: 'body.allowed.1', message: expect.stringContaining('m/nowhere') }],
  ])
  const unknown = await setPolicy(['github:* for moderators'])
  expect(unknown.status).toBe(400)
})

test('T1: the preview says what moderators gain, and for whom each line holds now', async () => {
  await setPolicy(['hub:read'])
  const { body } = await setPolicy(
    ['hub:read', 'hub:write for moderators of m/garden'],
    '?dry_run=true',
  )
  const [only, ...others] = body.changes
  expect(others).toEqual([])
  expect(only).toMatchObject({ requested_by: 'moderator', community: 'garden' })
  expect(only.gains).toContain('hub_create_post')

  const browser = await signIn(hub)
  const sent = await browser.send('/policy/scout', {
    do: 'preview',
    denied: '',
    require_approval: '',
    rate_limits: '',
    seen_at: '0',
    allowed: 'hub:read for guests\nhub:write for moderators of m/garden, @mira',
  })
  const page = await sent.text()
  expect(page).toContain('when a moderator of m/garden requests it')
  expect(page).toContain('everybody, guests included')
  expect(page).toContain('moderators of m/garden: @admin, @gil; @mira')
})

test('T1: a page with such a line costs one round trip', async () => {
  await setPolicy(lines)
  const browser = await signIn(hub)
  for (const path of ['/policy', '/policy/scout', '/a/scout', '/tools']) {
    await browser.get(path)
    expect(readCost((await browser.get(path)).headers).roundTrips, path).toBe(1)
  }
})
