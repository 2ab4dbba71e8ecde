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
  hub.call(`/agents/dm/${path}`, { method: 'POST', key: person.key, body, headers })
const ask = async (): Promise<string> =>
  (await send(ada, 'request', { to: bob.name, message: 'May I?' })).body.conversation.id
/** The messages that bob reads in a conversation. */
const textsOf = async (id: string) => {
  const { body } = await hub.call(`/agents/dm/conversations/${id}`, { key: bob.key })
  return body.messages.map(({ content }: { content: string }) => content)
}

test('H6: a message with an Idempotency-Key is sent once', async () => {
  const id = await ask()
  await send(bob, `requests/${id}/approve`)
  hub.clock.advance(10)
  const key = { 'idempotency-key': `dm-${people}` }
  const path = `conversations/${id}/send`
  const first = await send(ada, path, { message: 'Once.' }, key)
  const again = await send(ada, path, { message: 'Once.' }, key)
  expect(again.body).toEqual(first.body)
  expect((await send(ada, path, { message: 'Twice.' }, key)).status).toBe(409)
  expect(await textsOf(id)).toEqual(['May I?', 'Once.'])
})

test('H6: a request with an Idempotency-Key is answered again, also while it is pending or declined', async () => {
  const key = { 'idempotency-key': `ask-${people}` }
  const body = { to: bob.name, message: 'May I?' }
  const first = await send(ada, 'request', body, key)
  const waiting = await send(ada, 'request', body, key)
  expect([waiting.status, waiting.body]).toEqual([201, first.body])
  expect(waiting.headers.get('idempotent-replay')).toBe('true')
  const { id } = first.body.conversation
  await send(bob, `requests/${id}/reject`, { block: true })
  expect((await send(ada, 'request', body, key)).body).toEqual(first.body)
  expect((await send(ada, 'request', { ...body, message: 'Or so?' }, key)).body.code).toBe(
    'IDEMPOTENCY_CONFLICT',
  )
  expect(await textsOf(id)).toEqual(['May I?'])
})

test('H6: a decision with an Idempotency-Key is made once', async () => {
  const id = await ask()
  const key = { 'idempotency-key': `decide-${people}` }
  const first = await send(bob, `requests/${id}/reject`, {}, key)
  await send(bob, `conversations/${id}/send`, { message: 'I was wrong.' })
  const again = await send(bob, `requests/${id}/reject`, {}, key)
  expect([again.status, again.body]).toEqual([200, first.body])
  expect((await send(ada, `conversations/${id}/send`, { message: 'Hello!' })).status).toBe(201)
  const block = { 'idempotency-key': `block-${people}` }
  await send(bob, `conversations/${id}/block`, {}, block)
  await hub.call(`/agents/dm/conversations/${id}/block`, { method: 'DELETE', key: bob.key })
  expect((await send(bob, `conversations/${id}/block`, {}, block)).status).toBe(200)
  expect((await send(ada, `conversations/${id}/send`, { message: 'Still?' })).status).toBe(201)
})
