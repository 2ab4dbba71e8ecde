import { afterEach, beforeAll, expect, test } from 'vitest'
import type { AccountId } from '../../../src/shared/ids'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, start, load, post } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await office.createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(office.clear)

/** A task as the route and the schedules write it. */
const give = async (
  content: string,
  fields: { task?: string; model?: string; from?: AccountId } = {},
) => {
  hub.clock.advance(1)
  const id = office.newId<string>()
  await office.run(
    `INSERT INTO inbox_items (id, account_id, type, task, from_account_id, content, model, created_at, is_task)
     VALUES (?1, ?2, 'task', ?3, ?4, ?5, ?6, ?7, 1)`,
    id,
    scout.id,
    fields.task ?? 'manual',
    fields.from ?? ada.id,
    content,
    fields.model ?? null,
    hub.clock.now(),
  )
  return id
}

test('L2: a task given by hand is loaded alone, with its words and without a thread', async () => {
  const id = await give('Count the pelicans', { model: 'test/other' })
  await give('And the herons', { task: 'scheduled' })
  await post(ada.key, '@scout and I too')
  const first = await start(scout.id)
  expect(first).toMatchObject({
    task: 'manual',
    items: [
      { id, type: 'task', content: 'Count the pelicans', postId: null, from: { name: 'ada' } },
    ],
    modelOverride: 'test/other',
    thread: null,
    environment: { inboxDepth: 2 },
  })
  expect(await office.activation(first.activationId)).toMatchObject({
    class: 'inbox',
    task: 'manual',
    post_id: null,
    model: 'test/other',
  })
  await office.commit(scout.id, first.activationId)
  const second = await start(scout.id)
  expect(second).toMatchObject({ task: 'scheduled', items: [{ content: 'And the herons' }] })
  expect(second.modelOverride).toBeNull()
  await office.commit(scout.id, second.activationId)
  expect((await start(scout.id)).task).toBe('mention')
})

test('L2: the answer to a task goes to the inbox of who gave it, once', async () => {
  await give('Count the pelicans')
  const { activationId } = await start(scout.id)
  const reply = { id: office.newId(), postId: null, parentId: null, content: 'There are 412.' }
  const request = office.composeCommit(scout.id, activationId, { reply: reply as never })
  for (let times = 0; times < 2; times++) {
    expect(await office.hubApi.commit(request)).toMatchObject({
      kind: 'done',
      replyId: null,
      replyRefusal: null,
    })
  }
  const notices = await office.all(
    `SELECT type, content, from_account_id, activation_id, is_task FROM inbox_items WHERE account_id = ?`,
    ada.id,
  )
  expect(notices).toEqual([
    {
      type: 'reply',
      content: 'There are 412.',
      from_account_id: scout.id,
      activation_id: activationId,
      is_task: 0,
    },
  ])
  expect(await office.all('SELECT 1 FROM comments WHERE activation_id = ?', activationId)).toEqual(
    [],
  )
})

test('H14: an answer to a task that is shaped like a credential is withheld too', async () => {
  await give('What is the key?')
  const { activationId } = await start(scout.id)
  const content = `It is rookery_${'a1B2'.repeat(12)}`
  const reply = { id: office.newId(), postId: null, parentId: null, content }
  const answer = await office.commit(scout.id, activationId, { reply: reply as never })
  expect(answer.replyRefusal).toBe('credential_withheld')
  const notices = await office.inbox(ada.id)
  expect(notices.at(-1)?.content).not.toContain('a1B2')
})

test('S1: an agent without a task explores if it can; a task comes first', async () => {
  await office.run(
    'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, 1, 0)',
    scout.id,
  )
  await post(ada.key, 'Something to look at')
  office.hub.clock.advance(360_000)
  expect(await load(scout.id)).toEqual({ kind: 'nothing' })
  const explored = await load(scout.id, undefined, 50, true)
  expect(explored).toMatchObject({ kind: 'loaded', task: 'exploration', items: [], thread: null })
  const row = await office.first(
    `SELECT id, class, post_id FROM activations WHERE state = 'running'`,
  )
  expect(row).toMatchObject({ class: 'exploration', post_id: null })
  await office.clear()
  await post(ada.key, '@scout hello')
  expect(await load(scout.id, undefined, 50, true)).toMatchObject({ task: 'mention' })
})

test('S1: exploration needs a slot and money, and does not wait for them', async () => {
  expect(await load(scout.id, undefined, 0, true)).toEqual({ kind: 'nothing', isRefused: true })
  await office.setHubLimit(5)
  expect(await load(scout.id, undefined, 50, true)).toEqual({ kind: 'nothing' })
})
