import { beforeAll, expect, test } from 'vitest'
import type { AccountId } from '../../src/shared/ids'
import { registerGuest } from '../hub/access/create-guest'
import { adminKey, createTestHub, readCost } from '../hub/create-test-hub'
import { createBrowser, signIn } from './open-pages'

const hub = createTestHub()
type Account = Awaited<ReturnType<typeof hub.join>>
let alice: Account
let bob: Account
let bot: Account
let scout: Account
const fact = {
  id: 7,
  text: 'Alice <b>likes</b> quinces.',
  source: 'a message',
  createdAt: Date.UTC(2026, 0, 1),
  sharedAt: null,
}
const file = { path: 'notes/<i>.md', bytes: 5, updatedAt: Date.UTC(2026, 0, 1) }

beforeAll(async () => {
  alice = await hub.join('alice', 'human')
  bob = await hub.join('bob', 'human')
  bot = await hub.join('bot')
  scout = await hub.join('scout')
  await hub.host(scout.id)
  const body = { to: 'scout', content: 'I like quinces.' }
  for (const { key } of [alice, bot]) {
    expect((await hub.call('/conversations', { key, body })).status).toBe(201)
  }
  const marks = { isUntrusted: true, privateTo: alice.id as AccountId }
  hub.seen.privateMemory.list = async () => ({
    facts: [fact],
    files: [{ ...file, sharedAt: Date.UTC(2026, 0, 2) }],
    hasMoreFacts: true,
    hasMoreFiles: false,
  })
  hub.seen.knowledge.list = async (_agent, view) => {
    hub.seen.knowledge.views.push(view)
    const isAlice = view.owners.includes(alice.id as AccountId)
    const shared = {
      ...fact,
      id: 5,
      text: 'The vault is <cold>.',
      privateTo: null,
      isUntrusted: false,
    }
    return {
      facts: isAlice ? [{ ...fact, ...marks }, shared] : [shared],
      files: isAlice
        ? [{ ...file, ...marks, privateTo: null, sharedAt: Date.UTC(2026, 0, 2) }]
        : [],
      tasks: [
        { id: 3, text: 'Count <the> jars.', createdAt: 0, privateTo: null, isUntrusted: false },
      ],
      sessions: [],
      hasMoreFacts: true,
      hasMoreFiles: false,
    }
  }
})

const path = '/a/scout/knows'

test('T2: the page of what an agent knows shows a person what it keeps for them alone, marked, with source and date', async () => {
  const browser = await signIn(hub, alice.key)
  expect(await browser.read('/a/scout')).toContain(`href="${path}"`)
  const response = await browser.get(path)
  expect(readCost(response.headers).roundTrips).toBe(1)
  const html = await response.text()
  expect(html).toContain('Alice &lt;b&gt;likes&lt;/b&gt; quinces.')
  expect(html).toMatch(/Jan(uary)?.2026[^<]*a message/)
  expect(html).toContain('Private to you.')
  expect(html).toContain('read text by a guest or from outside')
  expect(html).toContain('value="share"')
  expect(html).toContain('notes/&lt;i&gt;.md')
  expect(html).toContain('value="unshare"')
  expect(html).toContain('before=5#facts')
  expect(html).toContain('Count &lt;the&gt; jars.')
  // Everybody's fact is for admins and the owner to change.
  expect(html).toContain('The vault is &lt;cold&gt;.')
  expect(html.match(/value="delete_fact"/g)).toHaveLength(1)
  // A closed disclosure asks before anything is deleted.
  const asked = /<details><summary[^>]*>Delete.*?<\/details>/gs
  const outside = html.replace(asked, '')
  expect(html.match(asked)?.length).toBeGreaterThan(1)
  for (const change of ['delete_fact', 'delete_file']) {
    expect(html).toContain(`value="${change}"`)
    expect(outside).not.toContain(`value="${change}"`)
  }
  expect(html).not.toContain('value="close_task"')
})

test('T2: an agent is asked only for what the viewer sees: their own, and of closed communities that they read', async () => {
  const club = { name: 'club', visibility: 'private' }
  expect((await hub.call('/communities', { key: bob.key, body: club })).status).toBe(201)
  const { views } = hub.seen.knowledge
  views.splice(0)
  const [bobs, admin] = [await signIn(hub, bob.key), await signIn(hub)]
  expect(await bobs.read(path)).not.toContain('quinces')
  expect(await admin.read(path)).not.toContain('quinces')
  const [ofBob, ofAdmin] = views
  expect(ofBob).toMatchObject({ self: bob.id, opened: [], isManager: false })
  expect(ofBob?.owners).toHaveLength(2)
  expect(ofAdmin).toMatchObject({ isManager: true, opened: [] })
  expect(ofAdmin?.owners).not.toContain(ofBob?.owners[1])
  // An opening is about sessions, and holds for who opened it.
  const body = { account: 'alice', reason: 'A complaint about a session.' }
  expect((await hub.call('/openings', { key: adminKey, body })).status).toBe(201)
  views.splice(0)
  expect(await admin.read(path)).not.toContain('quinces')
  expect(await bobs.read(path)).not.toContain('quinces')
  expect(views.map(({ opened }) => opened)).toEqual([[alice.id], []])

  expect((await createBrowser(hub).get(path)).headers.get('location')).toContain('/login')
  expect((await bobs.get('/a/bob/knows')).status).toBe(404)
})

test('T1: a guest is shown no more by the API and the page than what is private to them', async () => {
  const { key } = await registerGuest(async (to, options) => (await hub.call(to, options)).body)
  const { views } = hub.seen.knowledge
  for (const [reader, seesShared] of [
    [key, false],
    [bob.key, true],
  ] as const) {
    views.splice(0)
    expect((await hub.call('/agents/scout/knowledge', { key: reader })).status).toBe(200)
    const html = await (await signIn(hub, reader)).read(path)
    expect(views.map((view) => view.seesShared)).toEqual([seesShared, seesShared])
    expect(html.includes('What is for everybody is shown to members.')).toBe(!seesShared)
  }
})

test('T2: its forms correct and delete for admins and the owner, and each change is in the admin log', async () => {
  const admin = await signIn(hub)
  const send = (fields: Record<string, string>, by = admin) => by.send(path, fields)
  const sent = [
    await send({ change: 'correct_fact', id: '5', text: 'The vault is warm.' }),
    await send({ change: 'delete_fact', id: '5' }),
    await send({ change: 'close_task', id: '3' }),
    await send({ change: 'delete_file', path: 'notes/a.md', is_shared: 'true' }),
  ]
  expect(sent.map(({ headers }) => headers.get('location'))).toEqual(
    ['facts', 'facts', 'tasks', 'files'].map((part) => `${path}#${part}`),
  )
  expect(hub.seen.knowledge.changes.splice(0)).toEqual([
    {
      kind: 'correct_fact',
      id: 5,
      text: 'The vault is warm.',
      source: 'corrected by @admin',
      isUntrusted: false,
    },
    { kind: 'delete_fact', id: 5 },
    { kind: 'close_task', id: 3, note: 'closed by @admin' },
    { kind: 'delete_file', path: 'notes/a.md', isShared: true },
  ])
  const { entries } = (await hub.call('/admin/log', { key: adminKey })).body
  expect(JSON.stringify(entries)).toContain('memory.correct_fact')
  expect(JSON.stringify(entries)).not.toContain('warm')
  const alices = await signIn(hub, alice.key)
  expect((await send({ change: 'delete_fact', id: '5' }, alices)).status).toBe(403)
  // An agent's text would pass as a person's: not even with its own key.
  const asAgent = await hub.call('/agents/scout/knowledge/facts/5', {
    method: 'PATCH',
    key: scout.key,
    body: { text: 'The vault is warm.' },
  })
  expect([asAgent.status, asAgent.body.code]).toEqual([403, 'FORBIDDEN'])
  expect(hub.seen.knowledge.changes.splice(0)).toEqual([])
  hub.seen.knowledge.change = async () => 'taken'
  const taken = await send({ change: 'correct_fact', id: '5', text: 'Known.' })
  expect([taken.status, await taken.text()]).toEqual([409, expect.stringContaining('same text')])
})

test('T2: its buttons share and make private again for the person who is signed in', async () => {
  const browser = await signIn(hub, alice.key)
  const send = (fields: Record<string, string>) => browser.send('/a/scout/private', fields)
  const sent = [
    await send({ kind: 'fact', id: '7', change: 'share' }),
    await send({ kind: 'file', path: 'notes/a.md', change: 'unshare' }),
  ]
  expect(sent.map(({ headers }) => headers.get('location'))).toEqual([
    `${path}#facts`,
    `${path}#files`,
  ])
  expect(hub.seen.privateMemory.changes.splice(0)).toEqual([
    { owner: alice.id, item: { kind: 'fact', id: 7 }, change: 'share' },
    { owner: alice.id, item: { kind: 'file', path: 'notes/a.md' }, change: 'unshare' },
  ])
  expect((await send({ kind: 'fact', id: '7', change: 'publish' })).status).toBe(400)
  expect(hub.seen.privateMemory.changes).toEqual([])
})

test('T2: the API does the same for people, and nothing for agents', async () => {
  const route = '/agents/scout/private'
  const listed = await hub.call(route, { key: alice.key })
  expect(listed.body).toMatchObject({
    facts: [{ id: 7, text: fact.text, source: 'a message', shared_at: null }],
    has_more: true,
    next_cursor: expect.any(String),
    files: [{ path: file.path, shared_at: '2026-01-02T00:00:00.000Z' }],
  })
  const body = { kind: 'fact', id: 7 }
  const share = (key: string) => hub.call(`${route}/share`, { key, body })
  expect((await share(alice.key)).status).toBe(200)
  expect(hub.seen.privateMemory.changes.splice(0)).toHaveLength(1)
  expect((await share(bot.key)).status).toBe(403)
  expect((await hub.call(route, { key: bot.key })).status).toBe(403)
  expect((await hub.call('/agents/bob/private', { key: alice.key })).status).toBe(404)
  hub.seen.privateMemory.change = async () => 'missing'
  expect((await share(bob.key)).status).toBe(404)
  expect((await share(adminKey)).status).toBe(404)
  hub.seen.privateMemory.change = async () => 'taken'
  expect((await share(alice.key)).status).toBe(409)
  expect(hub.seen.privateMemory.changes).toEqual([])
})
