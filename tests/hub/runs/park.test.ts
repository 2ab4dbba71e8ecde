import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { noCounters } from '../../../src/hub/contract/activations'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { createOffice, usageOf } from './create-office'
import { asking, createParking } from './create-parking'

const office = createOffice()
const { hub, createAgent, load, start, post } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada
let wren: typeof ada
let thread: PostId
const { compose, park, parkTask, decide, resume, decisionItems, clear } = createParking(
  office,
  () => scout.id,
)

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  wren = await createAgent('wren')
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  thread = await post(ada.key, '@scout please write a post')
})
afterEach(clear)

const hubSpent = async () =>
  (
    await office.first<{ n: number }>(
      `SELECT sum(spent_microusd) AS n FROM budget_windows WHERE budget_id IN (SELECT id FROM budgets WHERE scope = 'hub')`,
    )
  )?.n
test('T5: after an outage the run that began first goes on first, before what came meanwhile', async () => {
  const { activationId } = await start(scout.id)
  await post(ada.key, '@scout and then?')
  hub.clock.advance(1_000)
  const provider = { provider: 'Near', address: 'http://near.test', setting: 'NEAR_URL', parks: 1 }
  expect(await park(activationId, { approvals: [], outage: provider })).toMatchObject({
    kind: 'parked',
  })
  expect(await load(scout.id)).not.toMatchObject({ kind: 'loaded' })
  hub.clock.advance(1_000)
  expect(await office.hubApi.endOutage(provider.address, hub.clock.now())).toEqual([scout.id])
  expect((await resume()).activationId).toBe(activationId)
})

test('L30: parking settles, gives up slot and reservation, and asks the admins, in one round trip', async () => {
  const { activationId } = await start(scout.id)
  expect(await office.countTrips(() => park(activationId))).toBe(1)
  expect(await office.activation(activationId)).toMatchObject({
    state: 'parked',
    reserved_microusd: 0,
    reserved_tokens: 0,
    settled_microusd: 30,
    settled_tokens: 3,
    cost_microusd: 30,
  })
  expect(await hubSpent()).toBe(30)
  const [task] = (await office.inbox(scout.id)).slice(-1)
  expect(task).toMatchObject({ claimed_by: activationId, read_at: null })
  expect(await office.first('SELECT * FROM approvals')).toMatchObject({
    id: `${activationId}:call-1`,
    status: 'pending',
    arguments: '{"title":"Hello"}',
    expires_at: hub.clock.now() + 86_400_000,
  })
  expect(
    await office.first(
      `SELECT a.name, i.post_id, i.content FROM inbox_items i JOIN accounts a ON a.id = i.account_id WHERE i.type = 'approval_request'`,
    ),
  ).toEqual({
    name: 'admin',
    post_id: thread,
    content: 'Wants to call hub_create_post {"title":"Hello"}',
  })
})

test('L30: a repeated park changes nothing, also after people have decided and it runs again', async () => {
  const id = await parkTask()
  const request = compose(id)
  expect((await office.hubApi.park(request)).kind).toBe('parked')
  expect(await office.all('SELECT * FROM approvals')).toHaveLength(1)
  expect(
    await office.all(`SELECT 1 FROM inbox_items WHERE approval_id = ?`, `${id}:call-1`),
  ).toHaveLength(1)
  await decide(`${id}:call-1`)
  await resume()
  expect((await office.hubApi.park(request)).kind).toBe('lost')
  expect(await office.activation(id)).toMatchObject({ state: 'running' })
  expect(await hubSpent()).toBe(30)
})

test('L30: a row that no longer runs is not parked, and no approver is notified', async () => {
  const { activationId } = await start(scout.id)
  await office.commit(scout.id, activationId)
  expect((await park(activationId)).kind).toBe('lost')
  expect(await office.all('SELECT * FROM approvals')).toEqual([])
  expect(await hubSpent()).toBe(30)
})

test('L30: a parked activation holds no slot; the agent does other tasks meanwhile', async () => {
  await parkTask()
  const other = await post(ada.key, '@scout another thing')
  await post(ada.key, '@wren too')
  const loaded = await load(wren.id, undefined, 1)
  expect(loaded.kind).toBe('loaded')
  if (loaded.kind !== 'loaded') return
  expect(loaded.environment.runningActivations).toBe(1)
  const { items, activationId } = await start(scout.id)
  expect(items).toMatchObject([{ postId: other }])
  await office.commit(scout.id, activationId)
  expect(await load(scout.id)).toEqual({ kind: 'nothing' })
})

test('L30: parking returns the waiting agents, its own agent included', async () => {
  const { activationId } = await start(scout.id)
  await post(ada.key, '@wren and')
  await post(ada.key, '@scout more')
  expect((await park(activationId)).waiting).toEqual([wren.id, scout.id])
})

test('L30: a decision resumes it under a new deadline and reservation, in one round trip', async () => {
  const id = await parkTask()
  hub.clock.advance(3_600_000)
  expect((await decide(`${id}:call-1`, 'approve', 'Go on')).status).toBe(200)
  expect(hub.seen.woken.at(-1)).toBe(scout.id)
  const requestId = office.newId<ActivationId>()
  expect(await office.countTrips(() => load(scout.id, requestId))).toBe(1)
  expect(await resume(requestId)).toMatchObject({
    kind: 'resumed',
    activationId: id,
    admission: 'granted',
    decisions: [{ callId: 'call-1', decision: 'approved', by: 'admin', note: 'Go on' }],
    isCancelled: false,
    reservation: { microusd: 100, tokens: 10 },
    deadlineAt: hub.clock.now() + 330_000,
    environment: { inboxDepth: 0, runningActivations: 1 },
  })
  expect(await decisionItems()).toMatchObject([{ claimed_by: id, read_at: null }])
  await office.commit(scout.id, id, {
    usage: [usageOf(30, 3), usageOf(20, 2, 2)],
    reply: { id: office.newId(), postId: thread, parentId: null, content: 'Done.' },
  })
  expect(await office.activation(id)).toMatchObject({
    state: 'done',
    cost_microusd: 50,
    reserved_microusd: 0,
  })
  expect(await hubSpent()).toBe(50)
  expect(
    await office.first('SELECT agents_cost_microusd AS n FROM posts WHERE id = ?', thread),
  ).toEqual({ n: 50 })
  expect((await office.inbox(scout.id)).every(({ read_at }) => read_at !== null)).toBe(true)
})

test('B5 L30: what it used before it parked counts towards its token limit, and nothing stays reserved beyond it', async () => {
  await office.run('UPDATE agents SET activation_tokens_max = 20 WHERE account_id = ?', scout.id)
  const id = await parkTask({ usage: [usageOf(30, 12)] })
  await decide(`${id}:call-1`)
  await resume()
  expect((await office.renew(scout.id, id, { spent: 70 })).kind).toBe('renewed')
  expect(await office.renew(scout.id, id, { spent: 80 })).toEqual({
    kind: 'refused',
    reason: 'max_tokens',
  })
  // the money for the call that it does not make is free again
  expect(await office.activation(id)).toMatchObject({ settled_tokens: 12, reserved_microusd: 80 })
  await office.run('UPDATE agents SET activation_tokens_max = NULL WHERE account_id = ?', scout.id)
})

test('L37: a repeated LOAD that resumed answers the same; once parked again it finds nothing', async () => {
  const id = await parkTask()
  await decide(`${id}:call-1`, 'deny')
  const requestId = office.newId<ActivationId>()
  const answers = await Promise.all([resume(requestId), resume(requestId), resume(requestId)])
  for (const answer of answers) expect(answer).toEqual(answers[0])
  await park(id, { approvals: [asking('call-2')] })
  expect(await load(scout.id, requestId)).toEqual({ kind: 'nothing' })
  await decide(`${id}:call-2`)
  expect(await load(scout.id, requestId)).toEqual({ kind: 'nothing' })
  expect((await resume()).decisions).toMatchObject([
    { callId: 'call-1', decision: 'denied' },
    { callId: 'call-2', decision: 'approved' },
  ])
})

test('L30: it resumes only when all of its calls are decided, and once', async () => {
  const id = await parkTask({
    approvals: [asking('call-1'), asking('call-2', { tool: 'hub_vote' })],
  })
  await decide(`${id}:call-1`)
  expect(await decisionItems()).toEqual([])
  expect(await load(scout.id)).toEqual({ kind: 'nothing' })
  const both = await Promise.all([
    decide(`${id}:call-2`),
    decide(`${id}:call-2`, 'deny'),
    decide(`${id}:call-2`, 'approve_activation'),
  ])
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  expect(await decisionItems()).toHaveLength(1)
  await resume()
  expect(await load(scout.id)).toMatchObject({ kind: 'wait', reason: 'already_running' })
})

test('L38: resuming and a new mention at once: one runs, the other waits', async () => {
  const id = await parkTask()
  await decide(`${id}:call-1`)
  await post(ada.key, '@scout a new one')
  const answers = await Promise.all(Array.from({ length: 8 }, () => load(scout.id)))
  const [won, ...others] = answers.filter(({ kind }) => kind !== 'wait')
  expect(won).toMatchObject({ kind: 'resumed', activationId: id })
  expect(others).toEqual([])
  await office.commit(scout.id, id)
  expect((await start(scout.id)).items).toHaveLength(1)
})

test('L30 S3: resuming takes a slot reserved for exploration; without money it waits for money', async () => {
  const id = await parkTask()
  await decide(`${id}:call-1`)
  await post(ada.key, '@wren')
  await load(wren.id)
  const now = hub.clock.now()
  await office.run(
    `INSERT INTO settings (key, value, updated_at) VALUES ('exploration_waits', 'true', ?)`,
    now,
  )
  const ask = () =>
    office.hubApi.load({
      agentId: scout.id,
      activationId: office.newId<ActivationId>(),
      now,
      capacity: 2,
      canExplore: false,
      explorationFloor: 1,
    })
  await office.setHubLimit(135)
  expect(await ask()).toMatchObject({ kind: 'wait', reason: 'money_reserved' })
  await office.setHubLimit(20_000_000)
  expect(await ask()).toMatchObject({ kind: 'resumed', activationId: id })
  await office.run(`DELETE FROM settings WHERE key = 'exploration_waits'`)
})

test('L30: resuming waits for a slot, and for a pause to end', async () => {
  const id = await parkTask()
  await decide(`${id}:call-1`)
  await post(ada.key, '@wren')
  await load(wren.id)
  expect(await load(scout.id, undefined, 1)).toMatchObject({ kind: 'wait', reason: 'capacity' })
  await office.run(`INSERT INTO settings (key, value, updated_at) VALUES ('paused', 'true', 0)`)
  expect(await load(scout.id)).toEqual({ kind: 'paused' })
  await office.run(`DELETE FROM settings WHERE key = 'paused'`)
  await resume()
})

test('B4: with the budget gone meanwhile it resumes without a reservation, to say so', async () => {
  const id = await parkTask()
  await decide(`${id}:call-1`)
  await office.setHubLimit(35)
  expect(await resume()).toMatchObject({
    activationId: id,
    admission: 'budget_exhausted',
    reservation: { microusd: 0, tokens: 0 },
  })
})

test('M7: an approval without a decision in time: the sweep denies it, once, and wakes the agent', async () => {
  const id = await parkTask({ approvals: [asking('call-1'), asking('call-2')] })
  hub.clock.advance(86_400_000 - 1)
  expect((await office.hubApi.sweep(hub.clock.now())).wake).toEqual([])
  hub.clock.advance(1)
  expect(await decide(`${id}:call-1`)).toMatchObject({ status: 409 })
  expect((await office.hubApi.sweep(hub.clock.now())).wake).toEqual([scout.id])
  await office.hubApi.sweep(hub.clock.now())
  expect(await decisionItems()).toHaveLength(1)
  expect((await resume()).decisions).toMatchObject([
    { callId: 'call-1', decision: 'expired', by: null },
    { callId: 'call-2', decision: 'expired', by: null },
  ])
  expect(
    await office.all(
      `SELECT 1 FROM inbox_items WHERE type = 'approval_request' AND approval_id LIKE ? AND read_at IS NULL`,
      `${id}:%`,
    ),
  ).toEqual([])
})

/** The rows of every table, as text. */
async function readTables(): Promise<Record<string, string>> {
  const tables = await office.all<{ name: string }>(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '_cf%'
      AND name NOT LIKE 'search_index%'`,
  )
  const rows = tables.map(async ({ name }) => [
    name,
    JSON.stringify(await office.all(`SELECT * FROM "${name}"`)),
  ])
  return Object.fromEntries(await Promise.all(rows))
}

test('L37: a stalled run that commits while its row is parked changes no row at all', async () => {
  await office.comment(ada.key, thread, '@scout and a second thing')
  const { activationId } = await start(scout.id)
  await office.run(
    `UPDATE inbox_items SET joined_at = created_at WHERE claimed_by = ? AND comment_id IS NOT NULL`,
    activationId,
  )
  expect((await park(activationId)).kind).toBe('parked')
  const request = office.composeCommit(scout.id, activationId, {
    now: hub.clock.now() + 1,
    outcome: 'failed',
    reply: { id: office.newId<CommentId>(), postId: thread, parentId: null, content: 'Done.' },
    report: { id: office.newId<PostId>(), title: 'scout failed', content: 'X' },
    refusedCall: { microusd: 5, tokens: 5 },
    usage: [usageOf(70, 7, 2)],
    counters: { ...noCounters, modelRequests: 1 },
    program: 'codex',
    trace: '{"version":1,"steps":[1]}',
    audit: [
      {
        callId: 'late',
        tool: 'hub_search',
        grant: 'hub:read',
        argumentsHash: 'x',
        at: 5,
        decision: 'allowed',
        outcome: 'ok',
        durationMs: 4,
        resultBytes: 10,
      },
    ],
  })
  const before = await readTables()
  const listChanged = async () => {
    const after = await readTables()
    return Object.keys(after).filter((name) => after[name] !== before[name])
  }
  await office.hubApi.commit(request)
  expect(await listChanged()).toEqual([])

  // The same commit of a row that runs writes to all of them, so that each is guarded by the state.
  await office.run(`UPDATE activations SET state = 'running' WHERE id = ?`, activationId)
  await office.hubApi.commit(request)
  const written =
    'accounts activations activation_traces agent_counters agent_days agents audit_log'
  const spent = 'budget_windows comments communities inbox_items posts usage_days usage_events'
  expect((await listChanged()).toSorted()).toEqual(`${written} ${spent}`.split(' ').toSorted())
})
