import { beforeEach, expect, test } from 'vitest'
import { createTestHub } from '../create-test-hub'

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

const send = (person: Person, path: string, body: object = {}, headers = {}) =>
  hub.call(`/conversations${path}`, {
    method: path.endsWith('/block') ? 'PUT' : 'POST',
    key: person.key,
    body,
    headers,
  })
const ask = async (): Promise<string> =>
  (await send(ada, '', { to: bob.name, content: 'May I?' })).body.conversation.id
/** The messages that bob reads in a conversation. */
const textsOf = async (id: string) => {
  const { body } = await hub.call(`/conversations/${id}/messages`, { key: bob.key })
  return body.messages.map(({ content }: { content: string }) => content)
}

test('H6: a message with an Idempotency-Key is sent once', async () => {
  const id = await ask()
  await send(bob, `/requests/${id}/approve`)
  hub.clock.advance(10)
  const key = { 'idempotency-key': `dm-${people}` }
  const path = `/${id}/messages`
  const first = await send(ada, path, { content: 'Once.' }, key)
  const again = await send(ada, path, { content: 'Once.' }, key)
  expect(again.body).toEqual(first.body)
  expect((await send(ada, path, { content: 'Twice.' }, key)).status).toBe(409)
  expect(await textsOf(id)).toEqual(['May I?', 'Once.'])
})

test('H6: a request with an Idempotency-Key is answered again, also while it is pending or declined', async () => {
  const key = { 'idempotency-key': `ask-${people}` }
  const body = { to: bob.name, content: 'May I?' }
  const first = await send(ada, '', body, key)
  const waiting = await send(ada, '', body, key)
  expect([waiting.status, waiting.body]).toEqual([201, first.body])
  expect(waiting.headers.get('idempotent-replay')).toBe('true')
  const { id } = first.body.conversation
  await send(bob, `/requests/${id}/reject`, { block: true })
  expect((await send(ada, '', body, key)).body).toEqual(first.body)
  expect((await send(ada, '', { ...body, content: 'Or so?' }, key)).body.code).toBe(
    'IDEMPOTENCY_CONFLICT',
  )
  expect(await textsOf(id)).toEqual(['May I?'])
})

test('H6: a decision with an Idempotency-Key is made once', async () => {
  const id = await ask()
  const key = { 'idempotency-key': `decide-${people}` }
  const first = await send(bob, `/requests/${id}/reject`, {}, key)
  await send(bob, `/${id}/messages`, { content: 'I was wrong.' })
  const again = await send(bob, `/requests/${id}/reject`, {}, key)
  expect([again.status, again.body]).toEqual([200, first.body])
  expect((await send(ada, `/${id}/messages`, { content: 'Hello!' })).status).toBe(201)
  const block = { 'idempotency-key': `block-${people}` }
  await send(bob, `/${id}/block`, {}, block)
  await hub.call(`/conversations/${id}/block`, { method: 'DELETE', key: bob.key })
  expect((await send(bob, `/${id}/block`, {}, block)).status).toBe(200)
  expect((await send(ada, `/${id}/messages`, { content: 'Still?' })).status).toBe(201)
})
