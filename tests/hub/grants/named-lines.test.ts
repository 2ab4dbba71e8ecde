import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const hubApi = createHubApi(hub.context)
const scout = await hub.join('scout')
await hub.host(scout.id)
const createName = () => `n${crypto.randomUUID().slice(0, 8)}`
const setPolicy = (allowed: string[], name = 'scout') =>
  hub.call(`/agents/${name}/grants`, { method: 'PUT', key: adminKey, body: { allowed } })
const readPolicy = async () =>
  (await hub.call('/agents/scout/grants', { key: adminKey })).body.own.allowed as string[]

/** What scout may do in a run for an account. */
const allowedFor = async (requester: string): Promise<string[]> => {
  const id = crypto.randomUUID()
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, requesters)
     VALUES (?, ?, 'inbox', 'mention', 'parked', 'full', 'offline/extractive', 1, 0, 0, json_array(?))`,
  )
    .bind(id, scout.id, requester)
    .run()
  return (await hubApi.readPolicy(scout.id, id as Parameters<typeof hubApi.readPolicy>[1])).allowed
}

test('T1: a line for an account that does not exist is refused, with its line, by API and page', async () => {
  const name = createName()
  const lines = ['hub:read', `github:write for @${name} trusted`, `http:* for members, @${name}`]
  const refused = await setPolicy(lines)
  expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION'])
  expect(refused.body.details).toEqual([
    { path: 'body.allowed.1', message: expect.stringContaining(`@${name}`) },
    { path: 'body.allowed.2', message: expect.stringContaining(`@${name}`) },
  ])
  const browser = await signIn(hub)
  const sent = await browser.send('/policy/scout', {
    do: 'save',
    allowed: lines.join('\n'),
    denied: '',
    require_approval: '',
    rate_limits: '',
    seen_at: '0',
  })
  expect(sent.status).toBe(400)
  const page = await sent.text()
  expect(page).toContain('Allowed, line 2')
  expect(page).toContain(`There is no account @${name}`)
})

test('T1: whoever registers a name later does not get the lines of who had it before', async () => {
  const name = createName()
  const first = await hub.join(name)
  expect((await setPolicy(['hub:read', `github:write for @${name.toUpperCase()}`])).status).toBe(
    200,
  )
  expect(await allowedFor(first.id)).toEqual(['hub:read', 'github:write'])
  // The account is renamed, and a stranger takes its name.
  const renamed = createName()
  await env.DB.prepare('UPDATE accounts SET name = ? WHERE id = ?').bind(renamed, first.id).run()
  const second = await hub.join(name)
  expect(await allowedFor(second.id)).toEqual(['hub:read'])
  expect(await allowedFor(first.id)).toEqual(['hub:read', 'github:write'])
  expect(await readPolicy()).toEqual(['hub:read', `github:write for @${renamed}`])
  expect((await setPolicy(await readPolicy())).status).toBe(200)
  expect(await allowedFor(second.id)).toEqual(['hub:read'])
})

test('T1: a line for a deleted account holds for nobody, and says so until it is removed', async () => {
  const name = createName()
  const gone = await hub.join(name)
  await setPolicy(['hub:read', `github:write for guests, @${name}`, `http:* for @${name} trusted`])
  // As if the row of the account were gone.
  await env.DB.batch([
    env.DB.prepare('UPDATE grant_policies SET named = replace(named, ?, ?)').bind(gone.id, 'gone'),
    env.DB.prepare('UPDATE accounts SET name = ? WHERE id = ?').bind(createName(), gone.id),
  ])
  const second = await hub.join(name)
  expect(await allowedFor(second.id)).toEqual(['hub:read', 'github:write'])
  const lines = await readPolicy()
  expect(lines).toEqual([
    'hub:read',
    'github:write for guests, @deleted--account',
    'http:* for @deleted--account trusted',
  ])
  const saved = await setPolicy(lines)
  expect(saved.status).toBe(200)
  for (const index of [1, 2]) {
    expect(saved.body.warnings).toContainEqual({
      path: `body.allowed.${index}`,
      message: expect.stringContaining('There is no account @deleted--account'),
    })
  }
  expect(await readPolicy()).toEqual(lines)
  const body = { name: 'deleted--account' }
  expect((await hub.call('/accounts', { body })).status).toBe(400)
})

test('T1: lines with names cost no round trip', async () => {
  const mira = await hub.join(createName(), 'human')
  await setPolicy(['hub:read', `github:write for @${mira.name}`])
  await hub.fetch('/a/scout', { headers: { authorization: `Bearer ${mira.key}` } })
  const page = await hub.fetch('/a/scout', { headers: { authorization: `Bearer ${mira.key}` } })
  expect(readCost(page.headers).roundTrips).toBe(1)
})
