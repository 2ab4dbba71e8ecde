import { afterEach, beforeAll, expect, test } from 'vitest'
import type { ActivationId } from '../../../src/shared/ids'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, createAgent, load, start, post, comment } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(office.clear)

test('L37: LOAD claims, reserves and reads all an activation needs in one round trip', async () => {
  const id = await post(ada.key, 'Hello @scout')
  const activationId = office.newId<ActivationId>()
  expect(await office.countTrips(() => load(scout.id, activationId))).toBe(1)
  const answer = await load(scout.id, activationId)
  expect(answer).toMatchObject({
    kind: 'loaded',
    agent: { id: scout.id, name: 'scout' },
    admission: 'granted',
    task: 'mention',
    items: [{ type: 'mention', from: { name: 'ada' }, postId: id, commentId: null }],
    thread: { post: { id, content: 'Hello @scout', community: 'general' }, comments: [] },
    policy: { requested: ['hub:read'], allowed: expect.arrayContaining(['hub:write']), denied: [] },
    reservation: { microusd: 100, tokens: 10 },
    deadlineAt: hub.clock.now() + 330_000,
    environment: { inboxDepth: 0, runningActivations: 1 },
  })
})

test('L37: a second LOAD with the same id is harmless, also at once, and answers the same', async () => {
  await post(ada.key, '@scout one')
  const id = office.newId<ActivationId>()
  const answers = await Promise.all([load(scout.id, id), load(scout.id, id), load(scout.id, id)])
  answers.push(await load(scout.id, id))
  for (const answer of answers) expect(answer).toEqual(answers[0])
  expect(answers[0]?.kind).toBe('loaded')
  expect(await office.all(`SELECT id FROM activations WHERE state = 'running'`)).toEqual([{ id }])
})

test('L17 L37: a LOAD for no capacity reads what is claimed already, and claims nothing', async () => {
  await post(ada.key, '@scout one')
  const id = office.newId<ActivationId>()
  const look = () =>
    office.hubApi.load({
      agentId: scout.id,
      activationId: id,
      now: hub.clock.now(),
      capacity: 0,
      canExplore: false,
    })
  expect(await look()).toMatchObject({ kind: 'wait' })
  expect(await office.inbox(scout.id).then((items) => items.at(-1))).toMatchObject({
    claimed_by: null,
  })
  expect(await load(scout.id, id)).toMatchObject({ kind: 'loaded' })
  expect(await look()).toMatchObject({ kind: 'loaded', items: [{ from: { name: 'ada' } }] })
})

test('L38: a late LOAD claims no items that its run never received', async () => {
  const id = await post(ada.key, '@scout one')
  const { activationId } = await start(scout.id)
  await comment(ada.key, id, '@scout and another thing')
  await load(scout.id, activationId)
  await office.commit(scout.id, activationId)
  const [one, two] = await office.inbox(scout.id).then((items) => items.slice(-2))
  expect(one?.read_at).not.toBeNull()
  expect(two).toMatchObject({ claimed_by: null, read_at: null })
  expect((await start(scout.id)).items).toHaveLength(1)
})

test('L37: a LOAD of an activation that is over finds nothing to do, whatever waits', async () => {
  await post(ada.key, '@scout one')
  const { activationId } = await start(scout.id)
  await office.commit(scout.id, activationId)
  await post(ada.key, '@scout two')
  expect(await load(scout.id, activationId)).toEqual({ kind: 'nothing' })
})

test('L38: a second activation of an agent waits, and gets the first in the answer', async () => {
  await post(ada.key, '@scout one')
  await post(ada.key, '@scout two')
  const { activationId, deadlineAt, model } = await start(scout.id)
  expect(await load(scout.id)).toEqual({
    kind: 'wait',
    reason: 'already_running',
    retryAt: hub.clock.now() + 2_000,
    other: {
      activationId,
      deadlineAt,
      reservedMicrousd: 100,
      reservedTokens: 10,
      model,
    },
  })
})

test('B4: an activation that switched models is reported with its current model', async () => {
  await post(ada.key, '@scout one')
  await post(ada.key, '@scout two')
  const { activationId, model } = await start(scout.id)
  expect(await load(scout.id)).toMatchObject({ other: { model } })
  const none = { microusd: 0, tokens: 0 }
  const want = { microusd: 100, tokens: 10 }
  const models = [model, 'openai/small']
  const now = hub.clock.now()
  const fields = { agentId: scout.id, activationId, now, spent: none, want, floor: none }
  await office.hubApi.renew({ ...fields, models })
  expect(await load(scout.id)).toMatchObject({ other: { model: 'openai/small' } })
})

test('L38: twenty activations of one agent at once: one runs', async () => {
  await Promise.all(Array.from({ length: 20 }, () => post(ada.key, '@scout?')))
  const answers = await Promise.all(Array.from({ length: 20 }, () => load(scout.id)))
  expect(answers.filter(({ kind }) => kind === 'loaded')).toHaveLength(1)
  const rest = answers.filter(({ kind }) => kind !== 'loaded')
  for (const answer of rest) expect(answer).toMatchObject({ reason: 'already_running' })
})

test('S3: with capacity 5, fifteen agents at once get exactly five places', async () => {
  const flock = await Promise.all(Array.from({ length: 15 }, (_, i) => createAgent(`flock-${i}`)))
  for (const { name } of flock) await post(ada.key, `@${name}`)
  const answers = await Promise.all(flock.map(({ id }) => load(id, undefined, 5)))
  expect(answers.filter(({ kind }) => kind === 'loaded')).toHaveLength(5)
  const rest = answers.filter(({ kind }) => kind !== 'loaded')
  for (const answer of rest) {
    expect(answer).toEqual({
      kind: 'wait',
      reason: 'capacity',
      retryAt: hub.clock.now() + 2_000,
    })
  }
})

test('L38: several mentions in one thread are claimed together; another thread waits', async () => {
  const one = await post(ada.key, '@scout first')
  const reply = await comment(ada.key, one, '@scout second')
  const other = await post(ada.key, '@scout elsewhere')
  const { items, activationId, environment } = await start(scout.id)
  expect(items.map(({ postId, commentId }) => [postId, commentId])).toEqual([
    [one, null],
    [one, reply],
  ])
  expect(environment.inboxDepth).toBe(1)
  await office.commit(scout.id, activationId)
  expect((await start(scout.id)).items).toMatchObject([{ postId: other }])
})

test('L37: an agent without a task finds nothing; an account that is no agent here is unknown', async () => {
  expect(await load(scout.id)).toEqual({ kind: 'nothing' })
  expect(await load(ada.id)).toEqual({ kind: 'unknown_agent' })
})

test('H21: a paused agent and a paused hub start nothing', async () => {
  await post(ada.key, '@scout')
  await office.run('UPDATE agents SET is_paused = 1 WHERE account_id = ?', scout.id)
  expect(await load(scout.id)).toEqual({ kind: 'paused' })
  await office.run('UPDATE agents SET is_paused = 0 WHERE account_id = ?', scout.id)
  await office.run(`INSERT INTO settings (key, value, updated_at) VALUES ('paused', 'true', 0)`)
  expect(await load(scout.id)).toEqual({ kind: 'paused' })
  await office.run(`UPDATE settings SET value = 'false' WHERE key = 'paused'`)
  expect((await load(scout.id)).kind).toBe('loaded')
})

test('L37: nobody answers what its author deleted meanwhile', async () => {
  const id = await post(ada.key, '@scout quick')
  const open = await post(ada.key, 'A thread')
  const asked = await comment(ada.key, open, '@scout and this?')
  await hub.call(`/posts/${id}`, { method: 'DELETE', key: ada.key })
  await hub.call(`/comments/${asked}`, { method: 'DELETE', key: ada.key })
  expect(await load(scout.id)).toEqual({ kind: 'nothing' })
})

test('L37: a post deleted after its task was claimed leaves no thread, and its task is consumed', async () => {
  const id = await post(ada.key, '@scout quick')
  const { activationId } = await start(scout.id)
  await hub.call(`/posts/${id}`, { method: 'DELETE', key: ada.key })
  const { thread, items } = await start(scout.id, activationId)
  expect(thread).toBeNull()
  expect(items).toHaveLength(1)
  await office.commit(scout.id, activationId, { usage: [] })
  expect(await load(scout.id)).toEqual({ kind: 'nothing' })
})

test('L37: the path to a deep question is read beside the newest fifty that are not deleted', async () => {
  const id = await post(ada.key, 'A long thread')
  const path = [await comment(ada.key, id, 'depth 0')]
  for (let depth = 1; depth <= 4; depth++) {
    path.push(await comment(ada.key, id, depth < 4 ? `depth ${depth}` : '@scout here', path.at(-1)))
  }
  const others = []
  for (let i = 0; i < 55; i++) others.push(await comment(ada.key, id, `later ${i}`))
  await hub.call(`/comments/${others[54]}`, { method: 'DELETE', key: ada.key })
  const { thread } = await start(scout.id)
  const ids = thread?.comments.map((each) => each.id)
  expect(ids).toEqual([...path, ...others.slice(4, 54)])
})

test('B4: the budget used up: admitted without a reservation, to say so politely', async () => {
  await office.setHubLimit(1_000)
  await office.setSpent(991)
  await post(ada.key, '@scout')
  const { admission, reservation } = await start(scout.id)
  expect({ admission, reservation }).toEqual({
    admission: 'budget_exhausted',
    reservation: { microusd: 0, tokens: 0 },
  })
})

test('B4: a reservation is no larger than what is left', async () => {
  await office.setHubLimit(1_000)
  await office.setSpent(960)
  await post(ada.key, '@scout')
  expect((await start(scout.id)).reservation.microusd).toBe(40)
})

test('B4: money merely reserved by others: wait', async () => {
  const wren = await createAgent('wren')
  await office.setHubLimit(105)
  await post(ada.key, '@scout @wren')
  const { activationId } = await start(scout.id)
  expect(await load(wren.id)).toMatchObject({ kind: 'wait', reason: 'money_reserved' })
  await office.commit(scout.id, activationId)
  expect((await start(wren.id)).reservation.microusd).toBe(75)
})

test('B4: money that others spent and have not settled is gone, not merely reserved', async () => {
  const lark = await createAgent('lark')
  await office.setHubLimit(105)
  await post(ada.key, '@scout @lark')
  const { activationId } = await start(scout.id)
  await office.renew(scout.id, activationId, { spent: 100 })
  expect((await start(lark.id)).admission).toBe('budget_exhausted')
})

test("B2: an agent's own budget binds it beside the hub's, in money and in tokens", async () => {
  const finch = await createAgent('finch')
  const now = hub.clock.now()
  await office.run(
    `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, limit_tokens, created_at, updated_at)
     VALUES ('finch-day', 'agent', ?, 'day', 60, 8, 0, 0)`,
    finch.id,
  )
  await office.hubApi.sweep(now)
  await post(ada.key, '@finch @scout')
  const { reservation, budgets } = await start(finch.id)
  expect(reservation).toEqual({ microusd: 60, tokens: 8 })
  expect(budgets.map(({ scope, reservedMicrousd }) => [scope, reservedMicrousd]).sort()).toEqual([
    ['agent', 60],
    ['hub', 60],
  ])
  expect((await start(scout.id)).reservation).toEqual({ microusd: 100, tokens: 10 })
})

test('B4: without a window for now a limited budget has nothing left, and the task waits for it; an unlimited one is open', async () => {
  const task = await post(ada.key, '@scout')
  hub.clock.advance(400 * 86_400_000)
  const waits = { kind: 'wait', reason: 'money_reserved' }
  expect(await office.load(scout.id)).toMatchObject(waits)
  // It says that its budget is used up only of one that it knows.
  await office.setHubLimit(0)
  expect(await office.load(scout.id)).toMatchObject(waits)
  await office.setHubLimit(20_000_000)
  await office.hubApi.sweep(hub.clock.now())
  const { admission, thread, activationId } = await start(scout.id)
  expect([admission, thread?.post.id]).toEqual(['granted', task])
  await office.commit(scout.id, activationId, { usage: [] })
  hub.clock.advance(400 * 86_400_000)
  await office.setHubLimit(null)
  await post(ada.key, '@scout')
  expect((await start(scout.id)).admission).toBe('granted')
  await office.hubApi.sweep(hub.clock.now())
})

test('B3 B4: an agent that costs nothing is refused too when a limit was lowered below what is spent', async () => {
  const crow = await createAgent('crow', { floor: 0, want: 0 })
  await office.setSpent(500)
  await office.setHubLimit(100)
  await post(ada.key, '@crow')
  expect(await start(crow.id)).toMatchObject({
    admission: 'budget_exhausted',
    reservation: { microusd: 0, tokens: 0 },
  })
})

test('M3: what the default policy denies is denied, and an own list replaces what it allows', async () => {
  await office.run(
    `INSERT INTO grant_policies (account_id, allowed, denied, updated_at) VALUES (?, '["github:read"]', '["hub:write"]', 0)`,
    scout.id,
  )
  await post(ada.key, '@scout')
  const { policy, activationId } = await start(scout.id)
  const expected = { requested: ['hub:read'], allowed: ['github:read'], denied: ['hub:write'] }
  expect(policy).toMatchObject(expected)
  expect(await office.renew(scout.id, activationId)).toMatchObject({ policy: expected })
  expect(await office.hubApi.readPolicy(scout.id, activationId)).toMatchObject(expected)
})
