import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'
import { asking, createParking } from '../runs/create-parking'

const office = createOffice()
const { hub } = office
const { parkTask, decide, decisionItems, clear, resume } = createParking(office, () => scout.id)
let ada: Awaited<ReturnType<typeof hub.join>>
let stranger: typeof ada
let scout: typeof ada
let id = ''

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  stranger = await hub.join('stranger', 'human')
  scout = await office.createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  await office.post(ada.key, '@scout please write a post')
  id = `${await parkTask()}:call-1`
})
afterEach(clear)

const list = async (key: string, query = '') => (await hub.call(`/approvals${query}`, { key })).body

test('M7: an admin sees exactly what would run, who asks, and until when, in one round trip', async () => {
  const { body, headers } = await hub.call('/approvals', { key: adminKey })
  expect(readCost(headers).roundTrips).toBe(1)
  expect(body.approvals).toMatchObject([
    {
      id,
      status: 'pending',
      agent: { name: 'scout', kind: 'agent' },
      tool: 'hub_create_post',
      grant: 'hub:write',
      tier: 'write',
      arguments: '{"title":"Hello"}',
      expires_at: new Date(hub.clock.now() + 86_400_000).toISOString(),
      decided_by: null,
    },
  ])
})

test('M7 M9: a requester sees that it is pending, without arguments, and cannot decide; others see nothing', async () => {
  expect((await list(ada.key)).approvals).toMatchObject([
    { id, tool: 'hub_create_post', status: 'pending', arguments: '', is_redacted: true },
  ])
  expect((await list(stranger.key)).approvals).toEqual([])
  expect((await hub.call('/approvals')).status).toBe(401)
  expect((await decide(id, 'approve', '', ada.key)).status).toBe(403)
  expect((await list(adminKey)).approvals).toMatchObject([{ status: 'pending' }])
})

test('M9: arguments and note are for admins, the agent itself and who wrote its definition', async () => {
  await decide(id, 'deny', 'Not for bob')
  const seen = async (key: string) => {
    const { approvals } = await list(key, '?status=all')
    const { arguments: args, note, is_redacted: isRedacted } = approvals[0]
    return [args, note, isRedacted]
  }
  const all = ['{"title":"Hello"}', 'Not for bob', false]
  expect(await seen(adminKey)).toEqual(all)
  expect(await seen(scout.key)).toEqual(all)
  expect(await seen(ada.key)).toEqual(['', '', true])
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'etag', ?, 0)`,
    scout.id,
    ada.id,
  )
  expect(await seen(ada.key)).toEqual(all)
  await office.run('DELETE FROM agent_definitions WHERE account_id = ?', scout.id)
})

test('M7: a decision is one batch: it, the item that resumes, and the end of the requests', async () => {
  const { status, body } = await decide(id, 'deny', 'Not today')
  expect(status).toBe(200)
  expect(body.approval).toMatchObject({
    status: 'denied',
    decided_by: { name: 'admin' },
    note: 'Not today',
  })
  expect(await decisionItems()).toMatchObject([{ is_task: 1, activation_id: id.split(':')[0] }])
  const requests = await office.all<{ read_at: number }>(
    'SELECT read_at FROM inbox_items WHERE approval_id = ?',
    id,
  )
  expect(requests).toEqual([{ read_at: hub.clock.now() }])
  expect((await list(adminKey)).approvals).toEqual([])
  expect((await list(adminKey, '?status=denied')).approvals).toMatchObject([{ id }])
})

test('M7: saying the same again is harmless, saying otherwise is a conflict', async () => {
  expect((await decide(id, 'approve')).status).toBe(200)
  hub.clock.advance(5)
  expect((await decide(id, 'approve')).status).toBe(200)
  expect(await decide(id, 'deny')).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  expect(await decide(id, 'approve_activation')).toMatchObject({ status: 409 })
  expect(await decisionItems()).toHaveLength(1)
  await resume()
  expect((await decide(id, 'approve')).status).toBe(200)
  expect(await decisionItems()).toHaveLength(1)
})

test('H6: a decision with an Idempotency-Key is answered again, and another one is refused', async () => {
  const send = (decision: string) =>
    hub.call(`/approvals/${encodeURIComponent(id)}/decide`, {
      key: adminKey,
      headers: { 'idempotency-key': `decide-${id}` },
      body: { decision },
    })
  const first = await send('approve')
  const again = await send('approve')
  expect(again.body).toEqual(first.body)
  expect(again.headers.get('idempotent-replay')).toBe('true')
  expect((await send('deny')).body.code).toBe('IDEMPOTENCY_CONFLICT')
})

test('M7: twenty people decide at once: one of them does, and the agent resumes once', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => decide(id, i % 2 ? 'approve' : 'deny', `by ${i}`)),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(await decisionItems()).toHaveLength(1)
})

test('M7: approving for the activation changes no decision, and nothing of another grant or another run', async () => {
  await clear()
  const parkOne = async () => {
    await office.post(ada.key, '@scout several things')
    return parkTask({
      approvals: [asking('one'), asking('refused'), asking('wider', { grant: 'hub:admin' })],
    })
  }
  const [activationId, other] = [await parkOne(), await parkOne()]
  await decide(`${activationId}:refused`, 'deny', 'Never this one')
  await decide(`${activationId}:one`, 'approve_activation')
  expect(
    await office.all(
      `SELECT activation_id = ? AS is_own, call_id, status, note FROM approvals ORDER BY is_own DESC, rowid`,
      activationId,
    ),
  ).toEqual([
    { is_own: 1, call_id: 'one', status: 'approved', note: '' },
    { is_own: 1, call_id: 'refused', status: 'denied', note: 'Never this one' },
    { is_own: 1, call_id: 'wider', status: 'pending', note: '' },
    ...['one', 'refused', 'wider'].map((call) => ({
      is_own: 0,
      call_id: call,
      status: 'pending',
      note: '',
    })),
  ])
  expect(other).not.toBe(activationId)
})

test('M7: a call of an external agent cannot be approved for a run, and stays open', async () => {
  const outsider = await hub.join('outsider')
  await office.hubApi.requestApproval(outsider.id, asking('outside'))
  const ofOutsider = 'SELECT id, status FROM approvals WHERE account_id = ?'
  const { id: external } = (await office.first<{ id: string }>(ofOutsider, outsider.id)) ?? {
    id: '',
  }
  const refused = await decide(external, 'approve_activation')
  expect([refused.status, refused.body.error]).toEqual([409, expect.stringMatching(/only once/)])
  expect(await office.first(ofOutsider, outsider.id)).toEqual({ id: external, status: 'pending' })
  for (let sent = 0; sent < 2; sent++) expect((await decide(external)).status).toBe(200)
  const items = `SELECT content FROM inbox_items WHERE type = 'approval_decision' AND account_id = ?`
  expect(await office.all(items, outsider.id)).toEqual([{ content: 'hub_create_post: approved.' }])
})

test('M7: a decision that comes again in the same moment, when its run goes on already, resumes nothing', async () => {
  await decide(id)
  await resume()
  expect((await decide(id)).status).toBe(200)
  expect(await decisionItems()).toHaveLength(1)
})

test('M7: approving for the activation approves what waits there for the same tool and grant', async () => {
  await clear()
  await office.post(ada.key, '@scout three things')
  const activationId = await parkTask({
    approvals: [
      asking('one'),
      asking('two', { arguments: '{"title":"Two"}', argumentsHash: 'hash-2' }),
      asking('other', { tool: 'hub_create_comment' }),
    ],
  })
  await decide(`${activationId}:one`, 'approve_activation')
  expect(
    await office.all(
      'SELECT call_id, status, scope FROM approvals WHERE activation_id = ? ORDER BY rowid',
      activationId,
    ),
  ).toEqual([
    { call_id: 'one', status: 'approved', scope: 'activation' },
    { call_id: 'two', status: 'approved', scope: 'activation' },
    { call_id: 'other', status: 'pending', scope: 'once' },
  ])
  expect(await decisionItems()).toEqual([])
  await decide(`${activationId}:other`, 'deny')
  expect(await decisionItems()).toHaveLength(1)
})

test('M7: an unknown approval is not found; a decision that is none is refused', async () => {
  expect((await decide('nothing')).status).toBe(404)
  expect((await decide(id, 'maybe')).status).toBe(400)
})

test('M7: the list has pages', async () => {
  await office.post(ada.key, '@scout once more')
  await parkTask({ approvals: ['a', 'b', 'c'].map((callId) => asking(callId)) })
  const first = await list(adminKey, '?limit=3')
  expect(first).toMatchObject({ has_more: true })
  const second = await list(adminKey, `?limit=3&cursor=${first.next_cursor}`)
  const ids = [...first.approvals, ...second.approvals].map(({ call_id }) => call_id)
  expect(ids).toEqual(['c', 'b', 'a', 'call-1'])
})
