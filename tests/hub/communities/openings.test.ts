import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import type { SessionSnapshot } from '../../../src/agents/contract/agents'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import type { ActivationId } from '../../../src/shared/ids'
import {
  answered,
  ended,
  loaded,
  requested,
  returned,
  toStoredLog,
  woken,
} from '../../support/run-log'
import { signIn } from '../../web/open-pages'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
const canary = 'quetzal-7777'
const refusal = 'Must not be wombat-4444'
const reason = 'A member reported a wrong answer.'
type Person = Awaited<ReturnType<typeof hub.join>>
let olga: Person
let piet: Person
let root: Person
/** A run in the private community m/cellar, and one that answers a message of olga. */
let runs: Record<'cellar' | 'dm', ActivationId>

const write = (id: ActivationId) =>
  toStoredLog([
    woken(id),
    loaded({ prompt: [{ role: 'user', text: canary }] }),
    answered({ text: canary, calls: [requested('c1', 'hub_search', `{"q":"${canary}"}`)] }),
    returned('c1', { text: canary, arguments: `{"q":"${canary}"}` }),
    answered({ step: 2, startedAt: 1_100, text: canary }),
    ended(),
  ])

beforeAll(async () => {
  olga = await hub.join('olga', 'human')
  piet = await hub.join('piet', 'human')
  root = await hub.join('root', 'human')
  await hub.call('/accounts/root/role', { key: adminKey, method: 'PUT', body: { role: 'admin' } })
  const scout = await office.createAgent('scout')
  // root wrote the definition of the agent, which is no reason to read what others told it.
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'etag', ?, 0)`,
    scout.id,
    root.id,
  )
  await hub.call('/communities', { key: olga.key, body: { name: 'cellar', visibility: 'private' } })
  for (const name of ['scout', 'piet']) {
    const add = { key: olga.key, method: 'PUT', body: { role: 'member' } }
    await hub.call(`/communities/cellar/members/${name}`, add)
  }
  const ids: ActivationId[] = []
  const play = async () => {
    const { activationId } = await office.start(scout.id)
    await office.commit(scout.id, activationId, {
      trace: write(activationId),
      audit: [
        {
          callId: 'c1',
          tool: 'hub_search',
          grant: 'hub:read',
          argumentsHash: 'h',
          at: 1_020,
          decision: 'allowed',
          outcome: 'ok',
          durationMs: 5,
          resultBytes: 5,
        },
        {
          callId: 'c2',
          tool: 'hub_post',
          grant: 'hub:write',
          argumentsHash: 'h',
          at: 1_010,
          decision: 'denied',
          outcome: null,
          durationMs: null,
          resultBytes: null,
          reason: refusal,
        },
      ],
    })
    ids.push(activationId)
    hub.clock.advance(60_000)
  }
  const body = { community: 'cellar', title: 'Keys', content: `@scout ${canary}?` }
  expect((await hub.call('/posts', { key: olga.key, body })).status).toBe(201)
  await play()
  const message = { to: 'scout', content: canary }
  expect((await hub.call('/conversations', { key: olga.key, body: message })).status).toBe(201)
  await play()
  const [cellar, dm] = ids
  if (!cellar || !dm) throw new Error('No runs.')
  runs = { cellar, dm }
})

const clear = () => env.DB.prepare('DELETE FROM admin_openings').run()
const lastEntry = () =>
  env.DB.prepare(
    `SELECT * FROM admin_log WHERE action = 'private.open' ORDER BY rowid DESC`,
  ).first()
const inboxOf = async ({ key }: Person): Promise<string> =>
  JSON.stringify((await hub.call('/inbox', { key })).body.items)

/** Everything that an admin can open about runs, by the API and as pages. */
async function readAll(id: ActivationId, key: string): Promise<string> {
  const browser = await signIn(hub, key)
  const { body } = await hub.call('/audit?limit=100', { key })
  const calls = body.entries.filter((each: { activation_id: string }) => each.activation_id === id)
  expect(calls).toHaveLength(2)
  const api = [
    `/activations/${id}`,
    `/activations/${id}/events`,
    `/activations/${id}/otlp`,
    `/audit/${calls[0].id}`,
    '/audit',
    '/approvals?status=all',
    '/activations',
  ]
  const pages = [`/activations/${id}`, `/audit/${calls[0].id}`, '/audit', '/a/scout', '/budgets']
  const texts = await Promise.all([
    ...api.map(async (path) => JSON.stringify((await hub.call(path, { key })).body)),
    ...pages.map((path) => browser.read(path)),
  ])
  const watched = await hub.fetch(`/live/activations/${id}?view=full`, {
    headers: { authorization: `Bearer ${key}`, upgrade: 'websocket' },
  })
  const heard: string[] = []
  watched.webSocket?.addEventListener('message', ({ data }) => {
    heard.push(String(data))
  })
  watched.webSocket?.accept()
  await scheduler.wait(20)
  watched.webSocket?.close()
  return [...texts, ...heard].join('\n')
}

test('T21 T12: no admin reads the words of a private run without an entry', async () => {
  for (const id of Object.values(runs)) {
    for (const key of [adminKey, root.key]) {
      expect(await readAll(id, key)).not.toContain(canary)
      const { body } = await hub.call(`/activations/${id}`, { key })
      expect(body.is_redacted).toBe(true)
      expect(body.trace.steps).toHaveLength(2)
    }
  }
  expect(await lastEntry()).toBeNull()
})

test('T21 T12: an admin opens a community with a reason, for an hour; its moderators are notified', async () => {
  const key = root.key
  const open = (body: object, by = key) => hub.call('/openings', { key: by, body })
  expect((await open({ community: 'cellar' })).status).toBe(400)
  expect((await open({ community: 'cellar', reason: ' ' })).status).toBe(400)
  expect((await open({ community: 'cellar', account: 'olga', reason })).status).toBe(400)
  expect((await open({ community: 'cellar', reason }, olga.key)).status).toBe(403)
  expect((await open({ community: 'nowhere', reason })).status).toBe(404)
  expect(await lastEntry()).toBeNull()
  const opened = await open({ community: 'm/cellar', reason })
  expect(opened).toMatchObject({
    status: 201,
    body: { opened: [{ community: { name: 'cellar' }, account: null }] },
  })
  expect(await lastEntry()).toMatchObject({ account_id: root.id, target_type: 'community', reason })
  expect(await inboxOf(olga)).toContain(reason)
  expect(await inboxOf(piet)).not.toContain(reason)

  expect(await readAll(runs.cellar, key)).toContain(canary)
  // It holds for this admin and this community, and opens no thread.
  expect(await readAll(runs.cellar, adminKey)).not.toContain(canary)
  expect(await readAll(runs.dm, key)).not.toContain(canary)
  expect((await hub.call('/communities/cellar/feed', { key })).status).toBe(404)
  hub.clock.advance(3_600_000)
  expect(await readAll(runs.cellar, key)).not.toContain(canary)

  const list = async (by: Person, query = '') =>
    (await hub.call(`/openings${query}`, { key: by.key })).body.openings
  for (const community of ['cellar', 'm/cellar']) {
    expect(await list(olga, `?community=${community}`)).toMatchObject([
      { by: { name: 'root' }, community: { name: 'cellar' }, reason },
    ])
  }
  expect(await list(piet)).toEqual([])
  const log = '/moderation/log/cellar'
  expect(await (await signIn(hub, olga.key)).read(log)).toContain(reason)
  expect(await (await signIn(hub, piet.key)).read(log)).not.toContain(reason)
  await clear()
})

test('T2 T12: an admin opens the private runs of an account, which is notified', async () => {
  const body = { activation_id: runs.dm, reason }
  const opened = await hub.call('/openings', { key: root.key, body })
  expect(opened).toMatchObject({
    status: 201,
    body: { opened: [{ community: null, account: { name: 'olga' } }] },
  })
  expect(await lastEntry()).toMatchObject({ target_type: 'account', target_id: olga.id, reason })
  expect(await readAll(runs.dm, root.key)).toContain(canary)
  expect(await readAll(runs.cellar, root.key)).not.toContain(canary)
  expect(await inboxOf(olga)).toContain('opened as admin what agents did for you in private')
  const { openings } = (await hub.call('/openings', { key: olga.key })).body
  expect(openings).toMatchObject([{ by: { name: 'root' }, community: null }])
  await clear()
})

test('T21: the page of a private run says whose it is, and opens it by a form with a reason', async () => {
  const browser = await signIn(hub, root.key)
  const path = `/activations/${runs.cellar}`
  await browser.read(path)
  const page = await browser.get(path)
  expect(readCost(page.headers).roundTrips).toBe(1)
  const html = await page.text()
  expect(html).toContain('Private to m/cellar')
  expect(html).toContain('Open as admin')
  const refused = await browser.send(`${path}/open`, { reason: ' ' })
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('The reason must not be empty.')
  const sent = await browser.send(`${path}/open`, { reason })
  expect(sent.status).toBe(303)
  const opened = await browser.read(path)
  expect(opened).toContain(canary)
  expect(opened).not.toContain('Open as admin')
  const member = await signIn(hub, piet.key)
  expect((await member.send(`${path}/open`, { reason })).status).toBe(403)
  expect(await member.read(`/activations/${runs.dm}`)).not.toContain('Open as admin')
  await clear()
})

test('T2: a session with private parts is shown to an admin only once it is open', async () => {
  const snapshot: SessionSnapshot = {
    id: 'dm_olga',
    summary: canary,
    activations: 1,
    inputTokens: 1,
    cachedTokens: 0,
    outputTokens: 1,
    costMicrousd: 1,
    createdAt: 1,
    updatedAt: 1,
    messages: [{ role: 'user', text: canary }],
    privateTo: [olga.id],
    hasShared: true,
    lastCall: null,
  }
  const scoutId = (await hub.call('/accounts/scout', { key: adminKey })).body.account.id
  await hub.seen.sessions.restore(scoutId, 'dm_olga', snapshot)
  const path = '/agents/scout/sessions'
  const read = async () => {
    const one = await hub.call(`${path}/dm_olga`, { key: root.key })
    const all = await hub.call(path, { key: root.key })
    return { status: one.status, text: JSON.stringify([one.body, all.body]) }
  }
  const closed = await read()
  expect(closed.status).toBe(403)
  expect(closed.text).toContain('private to @olga')
  expect(closed.text).not.toContain(canary)
  const { messages } = snapshot
  const put = { key: root.key, method: 'PUT', body: { messages } }
  expect((await hub.call(`${path}/dm_olga`, put)).status).toBe(403)
  await hub.call('/openings', { key: root.key, body: { account: 'olga', reason } })
  const open = await read()
  expect(open.status).toBe(200)
  expect(open.text).toContain(canary)
  await clear()
})

test('T21: what an admin reads already cannot be opened', async () => {
  const add = { key: adminKey, method: 'PUT', body: {} }
  expect((await hub.call('/communities/cellar/members/admin', add)).status).toBe(200)
  expect(await readAll(runs.cellar, adminKey)).toContain(canary)
  const body = { activation_id: runs.cellar, reason }
  expect((await hub.call('/openings', { key: adminKey, body })).status).toBe(409)
  await hub.call('/communities/cellar/members/admin', { key: adminKey, method: 'DELETE' })
})

test('T20 T21: a standing rule shows the words of a private run only to whom the run is open', async () => {
  hub.seen.tools = listKnownTools([hubServer])
  const insert = (id: string, run: string | null) =>
    office.run(
      `INSERT INTO standing_rules (id, agent_id, tool, "grant", tier, arguments, tool_hash, activation_id, created_by, created_at, ends_at)
       SELECT ?1, agent_id, 't', 'g', 'write', ?2, 'h', ?3, ?4, 0, 4000000000000 FROM activations WHERE id = ?5`,
      id,
      JSON.stringify([{ name: 'text', kind: 'exact', value: canary }]),
      run,
      root.id,
      runs.dm,
    )
  await insert('rule-cellar', runs.cellar)
  await insert('rule-dm', runs.dm)
  await insert('rule-key', null)
  const browser = await signIn(hub, root.key)
  const shown = async () => {
    const { body } = await hub.call('/standing-rules', { key: root.key })
    expect(body).toMatchObject({ success: true, standing_rules: expect.any(Array) })
    const rules: { id: string; is_redacted: boolean; arguments: { equals: string }[] }[] =
      body.standing_rules
    for (const rule of rules) {
      expect(rule.arguments[0]?.equals).toBe(rule.is_redacted ? null : JSON.stringify(canary))
    }
    const open = rules.flatMap(({ id, is_redacted }) => (is_redacted ? [] : [id])).sort()
    expect((await browser.read('/policy')).split(canary)).toHaveLength(open.length + 1)
    return open
  }
  expect(await shown()).toEqual(['rule-key'])
  const open = (body: object) => hub.call('/openings', { key: root.key, body })
  expect((await open({ activation_id: runs.dm, reason })).status).toBe(201)
  expect(await shown()).toEqual(['rule-dm', 'rule-key'])
  await clear()
  const answer = await hub.call('/standing-rules/rule-dm', { key: root.key, method: 'DELETE' })
  expect(answer.status).toBe(200)
  expect(JSON.stringify(answer.body)).not.toContain(canary)
})

test('T21 M9: the audit names requesters and reasons of a private run to whoever opened it alone', async () => {
  const { key } = root
  const browser = await signIn(hub, key)
  const read = async (id: ActivationId) => {
    const { entries } = (await hub.call('/audit?limit=100&decision=denied', { key })).body
    const entry = entries.find((each: { activation_id: string }) => each.activation_id === id)
    const csv = (await browser.read('/audit.csv')).split('\n').filter((line) => line.includes(id))
    const detail = (await hub.call(`/audit/${entry.id}`, { key })).body
    const texts = [JSON.stringify([entry, detail]), await browser.read(`/audit/${entry.id}`)]
    return [...texts, csv.join()].map((text) => [/olga/.test(text), text.includes(refusal)])
  }
  const all = (isSeen: boolean) => Array(3).fill([isSeen, isSeen])
  for (const id of Object.values(runs)) expect(await read(id)).toEqual(all(false))
  expect(await browser.read('/audit')).not.toContain('by olga')
  await hub.call('/openings', { key, body: { community: 'cellar', reason } })
  expect([await read(runs.cellar), await read(runs.dm)]).toEqual([all(true), all(false)])
  expect(await browser.read('/audit')).toContain('by olga')
  await clear()
})
