import { beforeAll, expect, test } from 'vitest'
import type { AccountId } from '../../src/shared/ids'
import { adminKey, createTestHub, readCost } from '../hub/create-test-hub'
import { createBrowser, signIn } from './open-pages'

const hub = createTestHub()
type Account = Awaited<ReturnType<typeof hub.join>>
let alice: Account
let bob: Account
let bot: Account
const fact = {
  ...{ id: 7, text: 'Alice <b>likes</b> quinces.', source: 'a message' },
  ...{ createdAt: Date.UTC(2026, 0, 1), sharedAt: null },
}
const file = { path: 'notes/<i>.md', bytes: 5, updatedAt: Date.UTC(2026, 0, 1) }

beforeAll(async () => {
  alice = await hub.join('alice', 'human')
  bob = await hub.join('bob', 'human')
  bot = await hub.join('bot')
  const scout = await hub.join('scout')
  await hub.host(scout.id)
  const body = { to: 'scout', message: 'I like quinces.' }
  for (const { key } of [alice, bot]) {
    expect((await hub.call('/agents/dm/request', { key, body })).status).toBe(201)
  }
  hub.seen.privateMemory.list = async (_agent, owner) => ({
    facts: owner === alice.id ? [fact] : [],
    files: owner === alice.id ? [{ ...file, sharedAt: Date.UTC(2026, 0, 2) }] : [],
    hasMoreFacts: true,
    hasMoreFiles: false,
  })
})

const heading = 'remembers only for you'

test('T2: the page of an agent lists for a person what it keeps for them alone, with source and date', async () => {
  const browser = await signIn(hub, alice.key)
  await browser.read('/a/scout')
  const response = await browser.get('/a/scout')
  expect(readCost(response.headers).roundTrips).toBe(1)
  const html = await response.text()
  expect(html).toContain(heading)
  expect(html).toContain('Alice &lt;b&gt;likes&lt;/b&gt; quinces.')
  expect(html).toMatch(/Jan(uary)?.2026[^<]*a message/)
  expect(html).toContain('value="share"')
  expect(html).toContain('notes/&lt;i&gt;.md')
  expect(html).toContain('value="unshare"')
  expect(html).toContain('facts_before=7')
})

test('T2: others, visitors and agents see no such part, and the agent is not asked for it', async () => {
  const asked: AccountId[] = []
  const { list } = hub.seen.privateMemory
  hub.seen.privateMemory.list = async (agent, owner, page) => {
    asked.push(owner)
    return list(agent, owner, page)
  }
  for (const browser of [
    await signIn(hub, bob.key),
    await signIn(hub, bot.key),
    createBrowser(hub),
  ]) {
    expect(await browser.read('/a/scout')).not.toContain(heading)
  }
  expect(asked).toEqual([])
  hub.seen.privateMemory.list = list
  const admin = await (await signIn(hub)).read('/a/scout')
  expect(admin).not.toContain('quinces')
})

test('T2: its buttons share, make private again and delete for the person who is signed in', async () => {
  const browser = await signIn(hub, alice.key)
  const send = (fields: Record<string, string>) => browser.send('/a/scout/private', fields)
  const sent = [
    await send({ kind: 'fact', id: '7', change: 'share' }),
    await send({ kind: 'file', path: 'notes/a.md', change: 'unshare' }),
    await send({ kind: 'fact', id: '7', change: 'delete' }),
  ]
  for (const { status, headers } of sent) {
    expect(status).toBe(303)
    expect(headers.get('location')).toBe('/a/scout#private')
  }
  expect(hub.seen.privateMemory.changes.splice(0)).toEqual([
    { owner: alice.id, item: { kind: 'fact', id: 7 }, change: 'share' },
    { owner: alice.id, item: { kind: 'file', path: 'notes/a.md' }, change: 'unshare' },
    { owner: alice.id, item: { kind: 'fact', id: 7 }, change: 'delete' },
  ])
  expect((await send({ kind: 'fact', id: '7', change: 'publish' })).status).toBe(400)
  expect(hub.seen.privateMemory.changes).toEqual([])
})

test('T2: the API does the same for people, and nothing for agents', async () => {
  const path = '/agents/scout/private'
  const listed = await hub.call(path, { key: alice.key })
  expect(listed.body).toMatchObject({
    facts: [{ id: 7, text: fact.text, source: 'a message', shared_at: null }],
    next_before: 7,
    files: [{ path: file.path, shared_at: '2026-01-02T00:00:00.000Z' }],
    next_after: null,
  })
  const body = { kind: 'fact', id: 7 }
  const share = (key: string) => hub.call(`${path}/share`, { key, body })
  expect((await share(alice.key)).status).toBe(200)
  expect(hub.seen.privateMemory.changes.splice(0)).toHaveLength(1)
  expect((await share(bot.key)).status).toBe(403)
  expect((await hub.call(path, { key: bot.key })).status).toBe(403)
  expect((await hub.call('/agents/bob/private', { key: alice.key })).status).toBe(404)
  hub.seen.privateMemory.change = async () => 'missing'
  expect((await share(bob.key)).status).toBe(404)
  expect((await share(adminKey)).status).toBe(404)
  hub.seen.privateMemory.change = async () => 'taken'
  expect((await share(alice.key)).status).toBe(409)
  expect(hub.seen.privateMemory.changes).toEqual([])
})
