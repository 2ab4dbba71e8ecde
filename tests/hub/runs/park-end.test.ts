import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice, usageOf } from './create-office'
import { createParking } from './create-parking'

const office = createOffice()
const { hub, createAgent, post, comment } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada
let thread: PostId
const { park, parkTask, decide, resume, decisionItems, clear } = createParking(
  office,
  () => scout.id,
)

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  thread = await post(ada.key, '@scout please write a post')
})
afterEach(clear)

test('L34: a parked activation that is cancelled resumes cancelled, and its calls are not run', async () => {
  const id = await parkTask()
  for (let times = 0; times < 2; times++) {
    const { status } = await hub.call(`/activations/${id}/cancel`, { method: 'POST', key: ada.key })
    expect(status).toBe(200)
  }
  expect(hub.seen.woken.at(-1)).toBe(scout.id)
  expect(await decide(`${id}:call-1`)).toMatchObject({ status: 409 })
  expect(await decisionItems()).toHaveLength(1)
  expect(await resume()).toMatchObject({ activationId: id, isCancelled: true, decisions: [] })
  await office.commit(scout.id, id, { outcome: 'cancelled' })
  expect(
    (await hub.call(`/activations/${id}/cancel`, { method: 'POST', key: ada.key })).status,
  ).toBe(409)
})

test('C2: a stop in the thread ends a run that waits for an approval, for its requester alone', async () => {
  const mira = await hub.join('mira', 'human')
  const id = await parkTask()
  hub.seen.woken = []
  await comment(mira.key, thread, '@scout stop')
  expect((await office.activation(id))?.state).toBe('parked')
  expect(await decisionItems()).toHaveLength(0)
  await comment(ada.key, thread, 'stop')
  expect(hub.seen.woken).toContain(scout.id)
  expect(await decide(`${id}:call-1`)).toMatchObject({ status: 409 })
  expect(await decisionItems()).toHaveLength(1)
  expect(await resume()).toMatchObject({ activationId: id, isCancelled: true, decisions: [] })
  await office.commit(scout.id, id, { outcome: 'cancelled' })
})

test.each([
  ['the agent', () => office.run('UPDATE agents SET is_paused = 1 WHERE account_id = ?', scout.id)],
  ['the hub', () => hub.call('/system/pause', { method: 'POST', key: adminKey })],
])(
  'L34: a parked activation is cancelled while %s is paused, whatever waits before it',
  async (_, pause) => {
    const id = await parkTask()
    await post(ada.key, '@scout and this?')
    await pause()
    await hub.call(`/activations/${id}/cancel`, { method: 'POST', key: ada.key })
    const { wake } = await office.hubApi.sweep(hub.clock.now())
    expect(wake).toEqual([scout.id])
    expect(await resume()).toMatchObject({ activationId: id, isCancelled: true })
    await office.commit(scout.id, id, {
      outcome: 'cancelled',
      reply: {
        id: office.newId(),
        postId: thread,
        parentId: null,
        content: 'I was asked to stop.',
      },
    })
    expect(await office.activation(id)).toMatchObject({ state: 'done', outcome: 'cancelled' })
    expect((await office.inbox(ada.id)).at(-1)).toMatchObject({ type: 'reply', post_id: thread })
    expect(await office.load(scout.id)).toEqual({ kind: 'paused' })
    expect((await office.hubApi.sweep(hub.clock.now())).wake).toEqual([])
    await office.run('UPDATE agents SET is_paused = 0')
  },
)

test.each(['before it parks', 'while it parks'])(
  'L34: a running activation that is cancelled %s waits for no approval: it resumes cancelled',
  async (when) => {
    const { activationId: id } = await office.start(scout.id)
    hub.seen.cancel = async () => {
      if (when === 'while it parks') await park(id)
      return true
    }
    const { status } = await hub.call(`/activations/${id}/cancel`, { method: 'POST', key: ada.key })
    expect(status).toBe(200)
    if (when === 'before it parks') expect((await park(id)).waiting).toEqual([scout.id])
    expect(await office.activation(id)).toMatchObject({ state: 'parked' })
    expect(await decide(`${id}:call-1`)).toMatchObject({ status: 409 })
    expect(await decisionItems()).toHaveLength(1)
    expect(await resume()).toMatchObject({ activationId: id, isCancelled: true, decisions: [] })
    await office.commit(scout.id, id, { outcome: 'cancelled' })
  },
)

test('L34: cancelling after the decision but before it resumes is one item, and it is cancelled', async () => {
  const id = await parkTask()
  await decide(`${id}:call-1`)
  await hub.call(`/activations/${id}/cancel`, { method: 'POST', key: ada.key })
  expect(await decisionItems()).toHaveLength(1)
  expect(await resume()).toMatchObject({ isCancelled: true })
})

test.each(['approve', 'deny'])(
  'H11: a person who answers a parked call with %s asked for nothing, so the chain goes on',
  async (decision) => {
    const bee = await hub.join(`bee-${decision}`)
    await hub.host(bee.id)
    await office.run(
      'UPDATE inbox_items SET hops = 4, from_account_id = ? WHERE account_id = ? AND read_at IS NULL',
      bee.id,
      scout.id,
    )
    const id = await parkTask()
    await decide(`${id}:call-1`, decision)
    await resume()
    await office.commit(scout.id, id, {
      reply: { id: office.newId(), postId: thread, parentId: null, content: `Ask @${bee.name}.` },
    })
    expect(await office.first('SELECT hops FROM comments WHERE activation_id = ?', id)).toEqual({
      hops: 4,
    })
    const called = (await office.inbox(bee.id)).find((item) => item.post_id === thread)
    expect(called).toMatchObject({ is_task: 0, refusal: 'reply_limit_hops' })
  },
)

test('L30: the thread deleted meanwhile: the reply is refused and the requester is notified', async () => {
  const id = await parkTask()
  await hub.call(`/posts/${thread}`, { method: 'DELETE', key: ada.key })
  await decide(`${id}:call-1`)
  await resume()
  const answer = await office.commit(scout.id, id, {
    reply: { id: office.newId(), postId: thread, parentId: null, content: 'Done.' },
  })
  expect(answer).toMatchObject({ kind: 'done', replyId: null, replyRefusal: 'post_deleted' })
  const notices = await office.inbox(ada.id)
  expect(notices.at(-1)).toMatchObject({ type: 'system' })
})

test('L37: an approver is not notified of the reply like a requester', async () => {
  const id = await parkTask()
  await decide(`${id}:call-1`)
  await resume()
  await comment(ada.key, thread, 'Meanwhile')
  await office.commit(scout.id, id, {
    reply: { id: office.newId(), postId: thread, parentId: null, content: 'Done.' },
  })
  const notices = await office.all<{ name: string }>(
    `SELECT a.name FROM inbox_items i JOIN accounts a ON a.id = i.account_id WHERE i.type = 'reply' AND i.post_id = ? AND i.from_account_id = ?`,
    thread,
    scout.id,
  )
  expect(notices).toEqual([{ name: 'ada' }])
})

test('B4: a resumed activation whose record is lost is charged what it had reserved, on top', async () => {
  const id = await parkTask()
  await decide(`${id}:call-1`)
  const { reservation } = await resume()
  await office.commit(scout.id, id, {
    outcome: 'failed',
    usage: [{ ...usageOf(reservation.microusd, reservation.tokens), call: 0 }],
  })
  expect(await office.activation(id)).toMatchObject({ state: 'done', cost_microusd: 130 })
})
