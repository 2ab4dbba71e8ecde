import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { selectMessages } from '../../../src/hub/messages/queries'
import { run } from '../../../src/shared/db/batch'
import { sha256 } from '../../../src/shared/sha256'
import { signIn } from '../../web/open-pages'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
type Person = Awaited<ReturnType<typeof hub.join>>
let people = 0
let ada: Person
let bob: Person

beforeEach(async () => {
  ada = await hub.join(`ada${++people}`, 'human')
  bob = await hub.join(`bob${people}`, 'agent')
  hub.clock.advance(1_000)
})

const get = async (person: Person, path: string) =>
  (await hub.call(`/conversations${path}`, { key: person.key })).body
const send = (person: Person, path: string, body: object = {}, headers = {}) =>
  hub.call(`/conversations${path}`, {
    method: path.endsWith('/block') ? 'PUT' : 'POST',
    key: person.key,
    body,
    headers,
  })
const ask = async (from: Person, to: Person, message = 'May I?'): Promise<string> =>
  (await send(from, '', { to: to.name, content: message })).body.conversation.id
/** Opens a conversation that both have accepted. */
async function open(from = ada, to = bob): Promise<string> {
  const id = await ask(from, to)
  expect((await send(to, `/requests/${id}/approve`)).status).toBe(200)
  hub.clock.advance(10)
  return id
}
const textsOf = async (person: Person, id: string) =>
  (await get(person, `/${id}/messages`)).messages.map(({ content }: { content: string }) => content)

test('H10: the first message is a request; approved, both can write', async () => {
  const asked = await send(ada, '', { to: `@${bob.name}`, content: ' May I? ' })
  expect(asked.status).toBe(201)
  expect(asked.body).toMatchObject({
    message: { content: 'May I?' },
    conversation: { status: 'pending', account: { name: bob.name } },
  })
  const { id } = asked.body.conversation
  expect((await get(bob, '/requests')).requests).toMatchObject([
    { id, from: { name: ada.name }, preview: 'May I?' },
  ])
  expect(await get(bob, '')).toMatchObject({ conversations: [], unread_count: 0 })
  expect((await get(ada, '')).conversations[0]).toMatchObject({
    status: 'pending',
    is_initiator: true,
  })
  const early = await send(ada, `/${id}/messages`, { content: 'And?' })
  expect([early.status, early.body.code]).toEqual([409, 'CONFLICT'])
  expect((await send(ada, `/requests/${id}/approve`)).status).toBe(403)
  expect((await send(bob, `/requests/${id}/approve`)).body.conversation.status).toBe('open')
  hub.clock.advance(10)
  await send(bob, `/${id}/messages`, { content: 'You may.', needs_human_input: true })
  hub.clock.advance(10)
  await send(ada, '', { to: bob.name, content: 'Thanks.' })
  expect(await textsOf(ada, id)).toEqual(['May I?', 'You may.', 'Thanks.'])
  const { messages } = await get(ada, `/${id}/messages`)
  expect(messages[1]).toMatchObject({ from: { name: bob.name }, needs_human_input: true })
})

test('H10: a reply to a request approves it', async () => {
  const id = await ask(ada, bob)
  const answer = await send(bob, `/${id}/messages`, { content: 'Gladly.' })
  expect(answer.body.conversation.status).toBe('open')
  expect((await send(ada, `/${id}/messages`, { content: 'Fine.' })).status).toBe(201)
})

test('H10: unread messages are counted until they are read', async () => {
  const id = await open()
  for (const message of ['one', 'two', 'three']) {
    hub.clock.advance(10)
    await send(ada, `/${id}/messages`, { content: message })
  }
  // the request is the first of them
  expect(await get(bob, '')).toMatchObject({
    conversations: [{ unread_count: 4, last_message: 'three' }],
    unread_count: 4,
  })
  const inbox = async () => (await hub.call('/inbox/count', { key: bob.key })).body.unread_count
  expect(await inbox()).toBe(4)
  const page = await get(bob, `/${id}/messages?limit=3`)
  expect(page.messages.map(({ content }: { content: string }) => content)).toEqual([
    'one',
    'two',
    'three',
  ])
  const older = await get(bob, `/${id}/messages?limit=3&cursor=${page.next_cursor}`)
  expect([older.messages[0].content, older.next_cursor]).toEqual(['May I?', null])
  expect((await get(bob, '')).unread_count).toBe(0)
  expect(await inbox()).toBe(0)
  expect((await get(ada, '')).unread_count).toBe(0)
})

test('H10: a declined request stays declined for its sender; a block holds until it is lifted', async () => {
  const id = await ask(ada, bob)
  expect((await send(bob, `/requests/${id}/reject`)).body.conversation.status).toBe('rejected')
  const refused = await send(ada, '', { to: bob.name, content: 'Please?' })
  expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
  expect((await get(bob, '/requests')).requests).toEqual([])
  expect((await get(bob, '')).conversations).toEqual([])
  // the recipient who declined can still start writing
  expect((await send(bob, '', { to: ada.name, content: 'Now.' })).status).toBe(201)
  expect((await send(ada, `/${id}/messages`, { content: 'Good.' })).status).toBe(201)
  expect((await send(bob, `/requests/${id}/reject`)).status).toBe(409)
  expect((await send(bob, `/${id}/block`)).status).toBe(200)
  const blocked = await send(ada, `/${id}/messages`, { content: 'Hello?' })
  expect([blocked.status, blocked.body.error]).toEqual([403, refused.body.error])
  expect((await send(bob, `/${id}/messages`, { content: 'x' })).status).toBe(403)
  const lifted = { method: 'DELETE', key: bob.key }
  expect((await hub.call(`/conversations/${id}/block`, lifted)).status).toBe(200)
  expect((await send(ada, `/${id}/messages`, { content: 'Hello!' })).status).toBe(201)
})

test('H10: a request can be declined and blocked in one', async () => {
  const id = await ask(ada, bob)
  await send(bob, `/requests/${id}/reject`, { block: true })
  expect((await get(bob, '/requests')).requests).toEqual([])
  expect((await send(ada, '', { to: bob.name, content: 'Please?' })).status).toBe(403)
})

test('H10: an account cannot read or change the conversation of others', async () => {
  const id = await open()
  const eve = await hub.join(`eve${people}`)
  expect((await hub.call(`/conversations/${id}/messages`, { key: eve.key })).status).toBe(404)
  for (const path of [`/${id}/messages`, `/requests/${id}/approve`, `/${id}/block`]) {
    expect((await send(eve, path, path.endsWith('messages') ? { content: 'x' } : {})).status).toBe(
      404,
    )
  }
  expect((await hub.call(`/conversations/${id}/messages`)).status).toBe(401)
  expect((await get(eve, '')).conversations).toEqual([])
  const { body } = await hub.call(`/search?q=May`, { key: eve.key })
  expect(JSON.stringify(body)).not.toContain('May I?')
})

test('H10: opening a conversation marks messages as read for the account that opens it, and for no other', async () => {
  const id = await open()
  await send(ada, `/${id}/messages`, { content: 'one' })
  const eve = await hub.join(`eve-reads${people}`)
  for (const { key } of [ada, eve]) await hub.call(`/conversations/${id}/messages`, { key })
  expect((await get(bob, '')).unread_count).toBe(2)
  const hash = await sha256(eve.key)
  const credential = { hash, isSession: false, isAdminKey: false, adminKeyHash: '' }
  const page = { conversationId: id, before: null, limit: 9 }
  const { db, clock } = hub.context()
  expect(await run(db, selectMessages(credential, clock.now(), page))).toEqual([])
  const own = { ...credential, hash: await sha256(bob.key) }
  expect(await run(db, selectMessages(own, clock.now(), page))).toHaveLength(2)
})

test('H5: a task of a hosted agent stays open when its own key opens the conversation', async () => {
  const scout = await hub.join(`scout-reads${people}`)
  await hub.host(scout.id)
  const id = await ask(ada, scout, 'Where are the keys?')
  expect(await textsOf(scout, id)).toEqual(['Where are the keys?'])
  const { results } = await env.DB.prepare(
    'SELECT is_task AS isTask, read_at AS readAt FROM inbox_items WHERE account_id = ?',
  )
    .bind(scout.id)
    .all()
  expect(results).toEqual([{ isTask: 1, readAt: null }])
})

test('H10: an account that accepts no messages is refused with an error', async () => {
  const deaf = await hub.join(`deaf${people}`)
  await hub.host(deaf.id)
  await env.DB.prepare('UPDATE agents SET answers_dms = 0 WHERE account_id = ?').bind(deaf.id).run()
  const to = (name: string, message = 'x') => send(ada, '', { to: name, content: message })
  expect((await to('nobody-here')).status).toBe(404)
  expect((await to(ada.name)).status).toBe(400)
  expect((await to('rookery')).status).toBe(403)
  expect((await to(deaf.name)).status).toBe(403)
  expect((await to(bob.name, ' ')).status).toBe(400)
  expect((await to(bob.name, `my key is ${bob.key}`)).status).toBe(400)
})

test('H10: two accounts that write to each other at once share one conversation', async () => {
  const asked = await Promise.all([
    send(ada, '', { to: bob.name, content: 'You?' }),
    send(bob, '', { to: ada.name, content: 'You?' }),
  ])
  expect(asked.map(({ status }) => status).filter((status) => status === 201)).not.toEqual([])
  const rows = await env.DB.prepare('SELECT count(*) AS n FROM conversations WHERE pair LIKE ?')
    .bind(`%${ada.id}%`)
    .first<number>('n')
  expect(rows).toBe(1)
})

test('H10: a message of a person wakes a hosted agent, one of an agent does not', async () => {
  const scout = await hub.join(`scout${people}`)
  await hub.host(scout.id)
  const asked = await send(ada, '', { to: scout.name, content: 'Where are the keys?' })
  expect(asked.body.conversation.status).toBe('open')
  expect(hub.seen.woken).toContain(scout.id)
  hub.seen.woken.length = 0
  hub.clock.advance(10)
  await send(bob, '', { to: scout.name, content: 'Wake up.' })
  expect(hub.seen.woken).toEqual([])
  const { results } = await env.DB.prepare(
    'SELECT is_task AS isTask, content FROM inbox_items WHERE account_id = ? ORDER BY id',
  )
    .bind(scout.id)
    .all()
  expect(results).toEqual([
    { isTask: 1, content: 'Where are the keys?' },
    { isTask: 0, content: 'Wake up.' },
  ])
})

test('D6: respond_to_dms decides whether a message reaches an agent and wakes it', async () => {
  const scout = await hub.join(`owl${people}`)
  await hub.host(scout.id)
  const id = await ask(ada, scout)
  const say = async (answers: 0 | 1) => {
    await env.DB.prepare('UPDATE agents SET answers_dms = ?2 WHERE account_id = ?1')
      .bind(scout.id, answers)
      .run()
    hub.seen.woken.length = 0
    hub.clock.advance(10)
    const { status } = await send(ada, `/${id}/messages`, { content: `now ${answers}` })
    return { status, isWoken: hub.seen.woken.includes(scout.id) }
  }
  expect(await say(0)).toEqual({ status: 403, isWoken: false })
  expect(await say(1)).toEqual({ status: 201, isWoken: true })
})

test('H7: a list and a conversation take one round trip each and read the rows they show', async () => {
  const id = await open()
  await env.DB.prepare('UPDATE api_keys SET last_used_at = ?').bind(hub.clock.now()).run()
  for (const path of ['', '/requests', `/${id}/messages`]) {
    const { headers } = await hub.call(`/conversations${path}`, { key: ada.key })
    expect(readCost(headers).roundTrips).toBe(1)
    expect(readCost(headers).rowsRead).toBeLessThan(60)
  }
})

test('H10: the pages work without a script: ask, approve, answer, decline', async () => {
  const mine = await signIn(hub, ada.key)
  const theirs = await signIn(hub, bob.key)
  const asked = await mine.send('/dm', { to: bob.name, content: '<b>May</b> I?' })
  const path = (asked.headers.get('location') ?? '').replace('#say', '')
  expect([asked.status, path]).toEqual([303, expect.stringMatching(/^\/dm\/[0-9a-f-]{36}$/)])
  expect(await mine.read('/dm')).toContain('request pending')
  expect(await mine.read(path)).toContain('send messages here: request pending.')
  expect(await theirs.read('/dm')).toContain('Message requests')
  expect(await theirs.read('/inbox')).toContain(`href="${path}#say"`)
  const request = await theirs.read(path)
  expect(request).toContain(`Approve request of ${ada.name}`)
  expect(request).not.toContain('<b>May')
  expect((await theirs.send(`${path}/approve`, {})).headers.get('location')).toBe(path)
  const sent = await theirs.send(path, { content: 'You may.' })
  expect(sent.headers.get('location')).toBe(`${path}#say`)
  expect(await mine.read('/dm')).toContain('1 unread')
  expect(await mine.read(path)).toContain('You may.')
  expect(await mine.read('/dm')).not.toContain('1 unread')
  await theirs.send(`${path}/block`, {})
  expect(await theirs.read(path)).toContain('send messages here: blocked by you.')
  const refused = await mine.send(path, { content: 'And what I typed?' })
  expect(refused.status).toBe(403)
  const page = await refused.text()
  expect(page).toContain(`${bob.name} does not accept messages from you.`)
  expect(page).toContain('And what I typed?')
  await theirs.send(`${path}/unblock`, {})
  expect((await mine.send(path, { content: 'Thanks.' })).status).toBe(303)
})

test('H10: the pages require sign-in and show only the viewer’s own conversations', async () => {
  const id = await open()
  const eve = await signIn(hub, (await hub.join(`eva${people}`)).key)
  expect((await eve.get(`/dm/${id}`)).status).toBe(404)
  expect((await eve.send(`/dm/${id}`, { content: 'x' })).status).toBe(404)
  expect(await eve.read('/dm')).not.toContain(ada.name)
  const stranger = await hub.fetch(`/dm/${id}`, { redirect: 'manual' })
  expect(stranger.headers.get('location')).toBe(`/login?next=%2Fdm%2F${id}`)
  expect(await eve.read(`/dm?to=${ada.name}`)).toContain(`value="${ada.name}"`)
  expect((await eve.send('/dm', { to: 'no-such-name', content: 'Kept text' })).status).toBe(404)
})

test('H10: the page shows that an agent is working on its answer', async () => {
  const scout = await hub.join(`scout${people}`)
  await hub.host(scout.id)
  const mine = await signIn(hub, ada.key)
  const asked = await mine.send('/dm', { to: scout.name, content: 'Where are the keys?' })
  const path = asked.headers.get('location') ?? ''
  const page = await mine.get(path.replace('#say', ''))
  const html = await page.text()
  expect(html).toContain('data-running')
  expect(html).toContain('is working on an answer')
  expect(readCost(page.headers).roundTrips).toBe(1)
  await env.DB.prepare('UPDATE agents SET is_paused = 1 WHERE account_id = ?').bind(scout.id).run()
  expect(await mine.read(path.replace('#say', ''))).toContain(`${scout.name} is paused.`)
  for (const [statement, says] of [
    ['UPDATE agents SET is_paused = 0 WHERE account_id = ?1', 'is working on an answer'],
    [
      `INSERT INTO outage_waits (agent_id, activation_id, address, since) VALUES (?1, 'none', 'a', 0)`,
      `The model provider of ${scout.name} is down; nothing is lost.`,
    ],
    [
      'UPDATE accounts SET disabled_at = 1 WHERE id = ?1',
      `The account of ${scout.name} is disabled, banned or muted.`,
    ],
  ] as const) {
    await env.DB.prepare(statement).bind(scout.id).run()
    const shown = await mine.read(path.replace('#say', ''))
    expect(shown).toContain(says)
    expect(shown.includes('is working on an answer')).toBe(says === 'is working on an answer')
  }
  await env.DB.prepare('DELETE FROM outage_waits').run()
})

test('H10: an invalid message is an error at its field, and what was typed stays', async () => {
  const mine = await signIn(hub, ada.key)
  const unsent = await mine.send('/dm', { to: bob.name, content: '  ' })
  expect(unsent.status).toBe(400)
  const html = await unsent.text()
  expect(html).toContain('role="alert"')
  expect(html).toMatch(/<textarea[^>]* aria-describedby="content-wrong" aria-invalid="true"/)
  expect(html).toContain(`value="${bob.name}"`)
  const nobody = await (await mine.send('/dm', { to: ' ', content: 'Kept text' })).text()
  expect(nobody).toMatch(/<input[^>]* aria-describedby="to-wrong" aria-invalid="true"/)
  expect(nobody).toContain('Kept text</textarea>')
})
