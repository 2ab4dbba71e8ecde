import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { AccountId, CommentId } from '../../../src/shared/ids'
import { createSoftwareBrowser } from '../../support/software-browser'
import { signIn } from '../../web/open-pages'
import { createOffice } from '../runs/create-office'
import { createParking } from '../runs/create-parking'

const office = createOffice()
const { hub } = office

beforeEach(() => {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(null, { status: 503 }))
})
afterEach(() => vi.restoreAllMocks())

/** The items that wait to be sent to the browsers of an account. */
const readQueued = (id: AccountId) =>
  office.all<{ type: string; from_account_id: string }>(
    `SELECT i.type, i.from_account_id FROM push_queue q JOIN inbox_items i ON i.id = q.item_id
     WHERE i.account_id = ? ORDER BY i.type`,
    id,
  )

async function newReachable(role = 'member') {
  const person = await hub.join(`mira-${crypto.randomUUID().slice(0, 6)}`, 'human')
  await office.run('UPDATE accounts SET role = ? WHERE id = ?', role, person.id)
  const session = await signIn(hub, person.key)
  const { subscription } = await createSoftwareBrowser('https://push.example')
  await session.send('/settings/notifications/devices', { label: 'Phone', subscription })
  return person
}

test('C4: the answer of a run is queued for its requester in the batch of COMMIT, and once', async () => {
  const scout = await office.createAgent(`scout-${crypto.randomUUID().slice(0, 6)}`)
  const mira = await newReachable()
  const postId = await office.post(mira.key, `@${scout.name} why?`)
  const { activationId } = await office.start(scout.id)
  const reply = { id: office.newId<CommentId>(), postId, parentId: null, content: 'Because.' }
  const commit = () => office.commit(scout.id, activationId, { reply })
  await commit()
  await commit()
  expect(await readQueued(mira.id)).toEqual([{ type: 'reply', from_account_id: scout.id }])
})

test('C4: an answer queues nothing that others sent in the same moment', async () => {
  const scout = await office.createAgent(`scout-${crypto.randomUUID().slice(0, 6)}`)
  const mira = await newReachable()
  const olga = await hub.join(`olga-${crypto.randomUUID().slice(0, 6)}`, 'human')
  const postId = await office.post(mira.key, `@${scout.name} why?`)
  const { activationId } = await office.start(scout.id)
  await office.post(olga.key, `@${mira.name} look`)
  // as if the mention had been sent
  await office.run('DELETE FROM push_queue')
  const reply = { id: office.newId<CommentId>(), postId, parentId: null, content: 'Because.' }
  await office.commit(scout.id, activationId, { reply })
  expect(await readQueued(mira.id)).toEqual([{ type: 'reply', from_account_id: scout.id }])
})

test('C4: a call that requires approval is queued for those who can decide, and for no one else', async () => {
  const scout = await office.createAgent(`scout-${crypto.randomUUID().slice(0, 6)}`)
  const [mira, admin] = [await newReachable(), await newReachable('admin')]
  await office.post(mira.key, `@${scout.name} please do`)
  const parking = createParking(office, () => scout.id)
  await parking.parkTask()
  expect(await readQueued(admin.id)).toEqual([
    { type: 'approval_request', from_account_id: scout.id },
  ])
  expect(await readQueued(mira.id)).toEqual([])
})
