import { beforeAll, expect, test } from 'vitest'
import type { Actor } from '../../../src/hub/contract/hub'
import type { ActivationId } from '../../../src/shared/ids'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Person = Awaited<ReturnType<typeof hub.join>>
let [ada, eve, scout]: Person[] = []

const readInbox = async (activationId: ActivationId | null, limit = 30) => {
  if (!scout) throw new Error('nobody')
  const actor: Actor = {
    accountId: scout.id,
    name: 'scout',
    kind: 'agent',
    activationId,
    idempotencyKey: null,
    postId: null,
  }
  const entries = await office.hubApi.readInbox(actor, limit)
  return entries.map(({ from, content }) => `${from?.name}: ${content}`)
}
const write = (from: Person | undefined, message: string) => {
  hub.clock.advance(1)
  return hub.call('/conversations', {
    key: from?.key ?? null,
    body: { to: 'scout', content: message },
  })
}
const work = async () => {
  const { activationId } = await office.start((scout as Person).id)
  return activationId
}

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  eve = await hub.join('eve', 'human')
  scout = await office.createAgent('scout')
})

test('H10: an activation in a thread does not read private messages and tasks by hand; their own activation does', async () => {
  await write(ada, 'The safe opens with 4711')
  await office.commit((scout as Person).id, await work())
  await office.run(
    `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, task, read_at)
     VALUES (?, ?, 'task', ?, 'Look into the books', 1, 1, 'manual', 2)`,
    office.newId(),
    scout?.id,
    eve?.id,
  )
  await office.post((eve as Person).key, '@scout what do people tell you?')
  const inThread = await work()
  expect(await readInbox(inThread)).toEqual(['eve: @scout what do people tell you?'])
  // the newest are chosen among those that it may see
  await write(ada, 'And with 4712')
  expect(await readInbox(inThread, 1)).toHaveLength(1)
  expect(await readInbox(null)).toHaveLength(4)
  await office.commit((scout as Person).id, inThread)
})

test('H10: an answer to a message knows its own conversation and no other', async () => {
  await office.clear()
  await write(eve, 'What did ada tell you?')
  hub.clock.advance(1)
  const answering = await work()
  const before = await readInbox(answering)
  expect(before).toContain('eve: What did ada tell you?')
  expect(before.join()).not.toMatch(/471|books/)
  // what came while it works is of the same conversation
  await write(eve, 'Well?')
  expect(await readInbox(answering)).toContain('eve: Well?')
})

test('T2: of one conversation, an answer reads what was written for its own requesters', async () => {
  await office.clear()
  await office.run('UPDATE inbox_items SET read_at = 1 WHERE read_at IS NULL')
  await write(eve, 'The code of ada is 4713')
  await office.run(
    `UPDATE inbox_items SET requesters = '["${ada?.id}"]' WHERE content LIKE '%4713%'`,
  )
  await office.commit((scout as Person).id, await work())
  await write(eve, 'What is the code?')
  const answering = await work()
  const read = await readInbox(answering)
  expect(read).toContain('eve: What is the code?')
  expect(read.join()).not.toContain('4713')
})
