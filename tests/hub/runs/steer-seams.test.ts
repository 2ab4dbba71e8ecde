import { afterEach, beforeAll, expect, test } from 'vitest'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, start, post, comment } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let tomas: Account
let scout: Account

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  tomas = await hub.join('tomas', 'human')
  await office.run('UPDATE accounts SET is_moderator = 1 WHERE id = ?', tomas.id)
  scout = await office.createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(office.clear)

test('C2: a request after a stop is not dropped with the run that was stopped', async () => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  const { activationId } = await start(scout.id)
  await comment(mira.key, postId, 'stop')
  const id = await comment(mira.key, postId, '@scout count the herons instead.')
  // A renewal that was on its way when the stop came.
  const renewed = await office.renew(scout.id, activationId)
  expect(renewed.kind === 'renewed' && renewed.steering).toBeFalsy()
  await office.commit(scout.id, activationId, { outcome: 'cancelled' })
  expect((await start(scout.id)).items).toMatchObject([{ commentId: id }])
})

test('C1 C2: after a stop, words without its name do not reach the agent, also while its run ends', async () => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  const { activationId } = await start(scout.id)
  await comment(mira.key, postId, 'stop')
  await comment(mira.key, postId, 'I found the number myself.')
  await office.commit(scout.id, activationId, { outcome: 'cancelled' })
  expect(await office.load(scout.id)).toEqual({ kind: 'nothing' })
})

test('C2 T1: a late repeat of LOAD makes no moderator a requester or a payer', async () => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  const { activationId } = await start(scout.id)
  await comment(tomas.key, postId, 'Keep to the lagoon.')
  const renewed = await office.renew(scout.id, activationId)
  if (renewed.kind !== 'renewed') throw new Error(renewed.kind)
  expect(renewed.steering).toMatchObject([{ isModeration: true }])
  const again = await start(scout.id, activationId)
  expect(again.requesters.map(({ name }) => name)).toEqual(['mira'])
  expect(again.items.map(({ from }) => from.name)).toEqual(['mira'])
  const row = await office.first<{ payers: string }>(
    'SELECT payers FROM activations WHERE id = ?',
    activationId,
  )
  expect(Object.keys(JSON.parse(row?.payers ?? '{}'))).toEqual([mira.id])
})

test('C2: a moderator who steered a run did not ask for its answer', async () => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  const { activationId } = await start(scout.id)
  await comment(tomas.key, postId, 'Keep to the lagoon.')
  const renewed = await office.renew(scout.id, activationId)
  const joined = renewed.kind === 'renewed' ? (renewed.steering ?? []).map(({ id }) => id) : []
  await office.commit(scout.id, activationId, {
    joined: joined as never,
    reply: { id: office.newId(), postId, parentId: null, content: 'It was 412.' },
  })
  const answers = await office.all<{ account_id: string }>(
    'SELECT account_id FROM inbox_items WHERE from_account_id = ? AND post_id = ?',
    scout.id,
    postId,
  )
  expect(answers).toEqual([{ account_id: mira.id }])
})
