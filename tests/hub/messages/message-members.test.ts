import { beforeEach, expect, test } from 'vitest'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
type Person = Awaited<ReturnType<typeof hub.join>>
let people = 0
let ada: Person
let bob: Person
let eve: Person
let bot: Person

const setRole = (person: Person, role: string) =>
  hub.call(`/accounts/${person.name}/role`, { method: 'PUT', key: adminKey, body: { role } })

beforeEach(async () => {
  people++
  ada = await hub.join(`ada${people}`, 'human')
  bob = await hub.join(`bob${people}`, 'human')
  eve = await hub.join(`eve${people}`, 'human')
  bot = await hub.join(`bot${people}`)
  expect((await setRole(eve, 'guest')).status).toBe(200)
})

const write = (from: Person, to: Person) =>
  hub.call('/conversations', { key: from.key, body: { to: to.name, content: 'Hello' } })
const statusOf = async (from: Person, to: Person) =>
  (await write(from, to)).body.conversation?.status

test('H10: members write to each other without a request; guests and agents ask first, and are asked', async () => {
  expect(await statusOf(ada, bob)).toBe('open')
  expect((await write(ada, bob)).status).toBe(201)
  expect(await statusOf(bob, ada)).toBe('open')
  for (const [from, to] of [
    [eve, ada],
    [bob, eve],
    [bot, ada],
    [bob, bot],
  ] as const) {
    expect(await statusOf(from, to)).toBe('pending')
    expect((await write(from, to)).status).toBe(409)
  }
})

test('H10: a member who is blocked or was declined stays out, and a guest who becomes a member need not wait', async () => {
  const asked = await write(eve, ada)
  expect(asked.body.conversation.status).toBe('pending')
  await setRole(eve, 'member')
  expect(await statusOf(eve, ada)).toBe('open')
  const { id } = asked.body.conversation
  const path = `/conversations/${id}/block`
  expect((await hub.call(path, { method: 'PUT', key: ada.key, body: {} })).status).toBe(200)
  expect((await write(eve, ada)).status).toBe(403)
  await setRole(eve, 'guest')
  const declined = (await write(eve, bob)).body.conversation.id
  await hub.call(`/conversations/requests/${declined}/reject`, { key: bob.key, body: {} })
  await setRole(eve, 'member')
  expect((await write(eve, bob)).status).toBe(403)
})
