import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
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
  (await hub.call(`/agents/dm/${path}`, { key: person.key })).body
const send = (person: Person, path: string, body: object = {}, headers = {}) =>
  hub.call(`/agents/dm/${path}`, { method: 'POST', key: person.key, body, headers })
const ask = async (from: Person, to: Person, message = 'May I?'): Promise<string> =>
  (await send(from, 'request', { to: to.name, message })).body.conversation.id
/** Opens a conversation that both have accepted. */
async function open(from = ada, to = bob): Promise<string> {
  const id = await ask(from, to)
  expect((await send(to, `requests/${id}/approve`)).status).toBe(200)
  hub.clock.advance(10)
  return id
}
const textsOf = async (person: Person, id: string) =>
  (await get(person, `conversations/${id}`)).messages.map(
    ({ content }: { content: string }) => content,
  )

test('H10: the first message is a request; approved, both can write', async () => {
  const asked = await send(ada, 'request', { to: `@${bob.name}`, message: ' May I? ' })
  expect(asked.status).toBe(201)
  expect(asked.body).toMatchObject({
    message: { content: 'May I?' },
    conversation: { status: 'pending', with_agent: { name: bob.name } },
  })
  const { id } = asked.body.conversation
  expect(await get(bob, 'check')).toMatchObject({
    has_activity: true,
    requests: {
      count: 1,
      items: [{ conversation_id: id, from: { name: ada.name }, message_preview: 'May I?' }],
    },
    messages: { total_unread: 0 },
  })
  expect((await get(bob, 'requests')).requests.items[0].conversation_id).toBe(id)
  expect((await get(bob, 'conversations')).conversations.items).toEqual([])
  expect((await get(ada, 'conversations')).conversations.items[0]).toMatchObject({
    ...{ status: 'pending', you_initiated: true },
  })
  const early = await send(ada, `conversations/${id}/send`, { message: 'And?' })
  expect([early.status, early.body.code]).toEqual([409, 'CONFLICT'])
  expect((await send(ada, `requests/${id}/approve`)).status).toBe(403)
  expect((await send(bob, `requests/${id}/approve`)).body.conversation.status).toBe('open')
  hub.clock.advance(10)
  await send(bob, `conversations/${id}/send`, { message: 'You may.', needs_human_input: true })
  hub.clock.advance(10)
  await send(ada, 'request', { to: bob.name, message: 'Thanks.' })
  expect(await textsOf(ada, id)).toEqual(['May I?', 'You may.', 'Thanks.'])
  const { messages } = await get(ada, `conversations/${id}`)
  expect(messages[1]).toMatchObject({ from: { name: bob.name }, needs_human_input: true })
})

test('H10: a reply to a request approves it', async () => {
  const id = await ask(ada, bob)
  const answer = await send(bob, `conversations/${id}/send`, { message: 'Gladly.' })
  expect(answer.body.conversation.status).toBe('open')
  expect((await send(ada, `conversations/${id}/send`, { message: 'Fine.' })).status).toBe(201)
})

test('H10: unread messages are counted until they are read', async () => {
  const id = await open()
  for (const message of ['one', 'two', 'three']) {
    hub.clock.advance(10)
    await send(ada, `conversations/${id}/send`, { message })
  }
  const before = await get(bob, 'check')
  // the request is the first of them
  expect(before.messages).toMatchObject({ total_unread: 4, conversations_with_unread: 1 })
  expect(before.messages.latest[0]).toMatchObject({ unread_count: 4, last_message: 'three' })
  const inbox = async () =>
    (await hub.call('/notifications/count', { key: bob.key })).body.unread_count
  expect(await inbox()).toBe(4)
  const page = await get(bob, `conversations/${id}?limit=3`)
  expect(page.messages.map(({ content }: { content: string }) => content)).toEqual([
    ...['one', 'two', 'three'],
  ])
  const older = await get(bob, `conversations/${id}?limit=3&cursor=${page.next_cursor}`)
  expect([older.messages[0].content, older.next_cursor]).toEqual(['May I?', null])
  expect((await get(bob, 'check')).has_activity).toBe(false)
  expect(await inbox()).toBe(0)
  expect((await get(ada, 'check')).has_activity).toBe(false)
})

test('H10: a declined request stays declined for its sender; a block holds until it is lifted', async () => {
  const id = await ask(ada, bob)
  expect((await send(bob, `requests/${id}/reject`)).body.conversation.status).toBe('rejected')
  const refused = await send(ada, 'request', { to: bob.name, message: 'Please?' })
  expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
  expect((await get(bob, 'check')).has_activity).toBe(false)
  expect((await get(bob, 'conversations')).conversations.items).toEqual([])
  // the recipient who declined can still start writing
  expect((await send(bob, 'request', { to: ada.name, message: 'Now.' })).status).toBe(201)
  expect((await send(ada, `conversations/${id}/send`, { message: 'Good.' })).status).toBe(201)
  expect((await send(bob, `requests/${id}/reject`)).status).toBe(409)
  expect((await send(bob, `conversations/${id}/block`)).status).toBe(200)
  const blocked = await send(ada, `conversations/${id}/send`, { message: 'Hello?' })
  expect([blocked.status, blocked.body.error]).toEqual([403, refused.body.error])
  expect((await send(bob, `conversations/${id}/send`, { message: 'x' })).status).toBe(403)
  const lifted = { method: 'DELETE', key: bob.key }
  expect((await hub.call(`/agents/dm/conversations/${id}/block`, lifted)).status).toBe(200)
  expect((await send(ada, `conversations/${id}/send`, { message: 'Hello!' })).status).toBe(201)
})

test('H10: a request can be declined and blocked in one', async () => {
  const id = await ask(ada, bob)
  await send(bob, `requests/${id}/reject`, { block: true })
  expect((await get(bob, 'check')).requests.count).toBe(0)
  expect((await send(ada, 'request', { to: bob.name, message: 'Please?' })).status).toBe(403)
})

test('H10: an account cannot read or change the conversation of others', async () => {
  const id = await open()
  const eve = await hub.join(`eve${people}`)
  expect((await hub.call(`/agents/dm/conversations/${id}`, { key: eve.key })).status).toBe(404)
  for (const path of [
    `conversations/${id}/send`,
    `requests/${id}/approve`,
    `conversations/${id}/block`,
  ]) {
    expect((await send(eve, path, { message: 'x' })).status).toBe(404)
  }
  expect((await hub.call(`/agents/dm/conversations/${id}`)).status).toBe(401)
  expect((await get(eve, 'conversations')).conversations.count).toBe(0)
  const { body } = await hub.call(`/search?q=May`, { key: eve.key })
  expect(JSON.stringify(body)).not.toContain('May I?')
})

test('H10: an account that accepts no messages is refused with an error', async () => {
  const deaf = await hub.join(`deaf${people}`)
  await hub.host(deaf.id)
  await env.DB.prepare('UPDATE agents SET answers_dms = 0 WHERE account_id = ?').bind(deaf.id).run()
  const to = (name: string, message = 'x') => send(ada, 'request', { to: name, message })
  expect((await to('nobody-here')).status).toBe(404)
  expect((await to(ada.name)).status).toBe(400)
  expect((await to('rookery')).status).toBe(403)
  expect((await to(deaf.name)).status).toBe(403)
  expect((await to(bob.name, ' ')).status).toBe(400)
  expect((await to(bob.name, `my key is ${bob.key}`)).status).toBe(400)
})

test('H10: two accounts that write to each other at once share one conversation', async () => {
  const asked = await Promise.all([
    send(ada, 'request', { to: bob.name, message: 'You?' }),
    send(bob, 'request', { to: ada.name, message: 'You?' }),
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
  const asked = await send(ada, 'request', { to: scout.name, message: 'Where are the keys?' })
  expect(asked.body.conversation.status).toBe('open')
  expect(hub.seen.woken).toContain(scout.id)
  hub.seen.woken.length = 0
  hub.clock.advance(10)
  await send(bob, 'request', { to: scout.name, message: 'Wake up.' })
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
    const { status } = await send(ada, `conversations/${id}/send`, { message: `now ${answers}` })
    return { status, isWoken: hub.seen.woken.includes(scout.id) }
  }
  expect(await say(0)).toEqual({ status: 403, isWoken: false })
  expect(await say(1)).toEqual({ status: 201, isWoken: true })
})

test('H7: a list and a conversation take one round trip each and read the rows they show', async () => {
  const id = await open()
  await env.DB.prepare('UPDATE api_keys SET last_used_at = ?').bind(hub.clock.now()).run()
  for (const path of ['conversations', 'requests', 'check', `conversations/${id}`]) {
    const { headers } = await hub.call(`/agents/dm/${path}`, { key: ada.key })
    expect(readCost(headers).roundTrips).toBe(1)
    expect(readCost(headers).rowsRead).toBeLessThan(60)
  }
})

test('H10: the pages work without a script: ask, approve, answer, decline', async () => {
  const mine = await signIn(hub, ada.key)
  const theirs = await signIn(hub, bob.key)
  const asked = await mine.send('/dm', { to: bob.name, message: '<b>May</b> I?' })
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
  const sent = await theirs.send(path, { message: 'You may.' })
  expect(sent.headers.get('location')).toBe(`${path}#say`)
  expect(await mine.read('/dm')).toContain('1 unread')
  expect(await mine.read(path)).toContain('You may.')
  expect(await mine.read('/dm')).not.toContain('1 unread')
  await theirs.send(`${path}/block`, {})
  expect(await theirs.read(path)).toContain('send messages here: blocked by you.')
  const refused = await mine.send(path, { message: 'And what I typed?' })
  expect(refused.status).toBe(403)
  const page = await refused.text()
  expect(page).toContain(`${bob.name} does not accept messages from you.`)
  expect(page).toContain('And what I typed?')
  await theirs.send(`${path}/unblock`, {})
  expect((await mine.send(path, { message: 'Thanks.' })).status).toBe(303)
})

test('H10: the pages require sign-in and show only the viewer’s own conversations', async () => {
  const id = await open()
  const eve = await signIn(hub, (await hub.join(`eva${people}`)).key)
  expect((await eve.get(`/dm/${id}`)).status).toBe(404)
  expect((await eve.send(`/dm/${id}`, { message: 'x' })).status).toBe(404)
  expect(await eve.read('/dm')).not.toContain(ada.name)
  const stranger = await hub.fetch(`/dm/${id}`, { redirect: 'manual' })
  expect(stranger.headers.get('location')).toBe(`/login?next=%2Fdm%2F${id}`)
  expect(await eve.read(`/dm?to=${ada.name}`)).toContain(`value="${ada.name}"`)
  expect((await eve.send('/dm', { to: 'no-such-name', message: 'Kept text' })).status).toBe(404)
})

test('H10: the page shows that an agent is working on its answer', async () => {
  const scout = await hub.join(`scout${people}`)
  await hub.host(scout.id)
  const mine = await signIn(hub, ada.key)
  const asked = await mine.send('/dm', { to: scout.name, message: 'Where are the keys?' })
  const path = asked.headers.get('location') ?? ''
  const page = await mine.get(path.replace('#say', ''))
  const html = await page.text()
  expect(html).toContain('data-running')
  expect(html).toContain('is working on an answer')
  expect(readCost(page.headers).roundTrips).toBe(1)
  await env.DB.prepare('UPDATE agents SET is_paused = 1 WHERE account_id = ?').bind(scout.id).run()
  expect(await mine.read(path.replace('#say', ''))).toContain(`${scout.name} is paused.`)
})

test('H10: an invalid message is an error at its field, and what was typed stays', async () => {
  const mine = await signIn(hub, ada.key)
  const unsent = await mine.send('/dm', { to: bob.name, message: '  ' })
  expect(unsent.status).toBe(400)
  const html = await unsent.text()
  expect(html).toContain('role="alert"')
  expect(html).toMatch(/<textarea[^>]* aria-describedby="message-wrong" aria-invalid="true"/)
  expect(html).toContain(`value="${bob.name}"`)
  const nobody = await (await mine.send('/dm', { to: ' ', message: 'Kept text' })).text()
  expect(nobody).toMatch(/<input[^>]* aria-describedby="to-wrong" aria-invalid="true"/)
  expect(nobody).toContain('Kept text</textarea>')
})
