import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { answered, loaded, toStoredLog, woken } from '../../support/run-log'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice, type Started, usageOf } from './create-office'

const office = createOffice()
const { hub, createAgent, start, post } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let bob: typeof ada
let scout: typeof ada
let wren: typeof ada
let run: Started

const log = (text: string): string =>
  toStoredLog([
    woken('activation'),
    loaded({ prompt: [{ role: 'user', text: 'What?' }] }),
    answered({ text }),
  ])

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bob = await hub.join('bob', 'human')
  scout = await createAgent('scout')
  wren = await createAgent('wren')
  await office.run('UPDATE api_keys SET last_used_at = ?', hub.clock.now())
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  await post(ada.key, '@scout what did we decide?')
  run = await start(scout.id)
  hub.seen.cancel = async () => true
  hub.seen.readRunLog = async () => null
})
afterEach(office.clear)

const cancel = (key: string | null, headers = {}, id: string = run.activationId) =>
  hub.call(`/activations/${id}/cancel`, { method: 'POST', key, headers })

test('the list has filters, pages by cursor and costs one round trip with its viewer', async () => {
  await office.commit(scout.id, run.activationId, { usage: [usageOf(30, 3)] })
  await post(ada.key, '@wren')
  const other = await start(wren.id)
  const first = await hub.call('/activations?limit=1', { key: ada.key })
  expect(first.body.activations).toMatchObject([{ id: other.activationId, state: 'running' }])
  expect(readCost(first.headers).roundTrips).toBe(1)
  const next = await hub.call(`/activations?limit=1&cursor=${first.body.next_cursor}`)
  expect(next.body.activations).toMatchObject([
    {
      id: run.activationId,
      agent: { id: scout.id, name: 'scout', kind: 'agent' },
      state: 'done',
      outcome: 'completed',
      cost_microusd: 30,
      tools: ['hub_search'],
      post_title: 'A question',
      started_at: expect.stringMatching(/^2026-01-01T.*Z$/),
    },
  ])
  const ids = async (query: string) =>
    (await hub.call(`/activations?${query}`)).body.activations.map(({ id }: { id: string }) => id)
  expect(await ids('agent=wren')).toEqual([other.activationId])
  expect(await ids('agent=nobody')).toEqual([])
  expect(await ids('outcome=running')).toEqual([other.activationId])
  expect(await ids('outcome=completed&agent=scout')).toEqual([run.activationId])
})

test('a page reads rows in proportion to the page, not to the table', async () => {
  await office.run(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
     INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at, outcome)
     SELECT 'old-' || i, iif(i % 2, ?1, ?2), 'inbox', 'mention', 'done', 'granted', 'm', 1, i / 3, i, 'completed' FROM n`,
    scout.id,
    wren.id,
  )
  const seen = new Set<string>()
  let cursor: string | null = ''
  while (cursor !== null) {
    const page = await hub.call(`/activations?agent=wren&limit=100&cursor=${cursor}`)
    for (const { id } of page.body.activations) seen.add(id)
    cursor = page.body.next_cursor
    expect(readCost(page.headers).rowsRead).toBeLessThan(420)
  }
  expect([...seen].filter((id) => id.startsWith('old-'))).toHaveLength(500)
  const page = await hub.call('/activations')
  expect(readCost(page.headers).rowsRead).toBeLessThan(110)
  await office.run(`DELETE FROM activations WHERE id LIKE 'old-%'`)
})

test.each(['limit=0', 'limit=x', 'outcome=great', 'cursor=%%'])(
  'the list: %s answers 400 with the field',
  async (query) => {
    const { status, body } = await hub.call(`/activations?${query}`)
    expect(status).toBe(400)
    expect(body.details[0].path).toBe(`query.${query.split('=')[0]}`)
  },
)

test('one activation comes with its trace, in one round trip; unknown ids are 404', async () => {
  await office.commit(scout.id, run.activationId, { trace: log('Thinking') })
  const { body, headers } = await hub.call(`/activations/${run.activationId}`, { key: adminKey })
  expect(readCost(headers).roundTrips).toBe(1)
  expect(body).toMatchObject({
    activation: { id: run.activationId, outcome: 'completed' },
    trace: {
      prompt: [{ role: 'user', excerpt: 'What?' }],
      steps: [
        { step: 1, text: 'Thinking', cost_microusd: 30, started_at: '1970-01-01T00:00:01.000Z' },
      ],
    },
  })
  for (const id of ['nonsense', office.newId(), '%00', "'"]) {
    expect(await hub.call(`/activations/${id}`)).toMatchObject({ status: 404 })
  }
})

test('while it runs the trace is the agent’s own, without what looks like a credential', async () => {
  const secret = `sk-${'a1B2'.repeat(8)}`
  hub.seen.readRunLog = async (agentId, id) =>
    agentId === scout.id && id === run.activationId ? log(`so\n${secret}`) : null
  const { body } = await hub.call(`/activations/${run.activationId}`, { key: adminKey })
  expect(body.trace.steps[0].text).toBe('so\n[withheld]')
  const headers = { authorization: `Bearer ${adminKey}` }
  const page = await hub.fetch(`/activations/${run.activationId}`, { headers })
  const html = await page.text()
  expect(html).toContain('[withheld]')
  expect(html).not.toContain(secret)
  hub.seen.readRunLog = async () => {
    throw new Error('away')
  }
  expect(await hub.call(`/activations/${run.activationId}`)).toMatchObject({
    status: 200,
    body: { trace: null },
  })
})

test('L34: a requester and an admin can cancel, others cannot', async () => {
  const asked: unknown[] = []
  hub.seen.cancel = async (...of) => asked.push(of) > 0
  expect(await cancel(ada.key)).toMatchObject({
    status: 200,
    body: { success: true, cancelled: run.activationId },
  })
  expect(await cancel(adminKey)).toMatchObject({ status: 200 })
  expect(asked).toEqual([
    [scout.id, run.activationId],
    [scout.id, run.activationId],
  ])
  expect(await cancel(bob.key)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
  expect(await cancel(null)).toMatchObject({ status: 401 })
  expect(await cancel(ada.key, {}, office.newId())).toMatchObject({ status: 404 })
  expect(await cancel(ada.key, {}, 'nonsense')).toMatchObject({ status: 404 })
  expect(asked).toHaveLength(2)
})

test('L34: when it is over, or its commit is pending, cancel answers 409 TOO_LATE', async () => {
  const tooLate = { status: 409, body: { success: false, code: 'TOO_LATE' } }
  hub.seen.cancel = async () => false
  expect(await cancel(ada.key)).toMatchObject(tooLate)
  await office.commit(scout.id, run.activationId)
  hub.seen.cancel = async () => true
  expect(await cancel(ada.key)).toMatchObject(tooLate)
})

test('an agent that cannot be reached is 503, not a failure of the hub', async () => {
  hub.seen.cancel = async () => {
    throw new Error('away')
  }
  expect(await cancel(ada.key)).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
})

test('H6: the same key answers a cancel as the first time, also when it is over', async () => {
  const headers = { 'idempotency-key': 'stop-1' }
  const one = await cancel(ada.key, headers)
  await office.commit(scout.id, run.activationId, { outcome: 'cancelled' })
  const two = await cancel(ada.key, headers)
  expect([two.status, two.body]).toEqual([200, one.body])
  expect(two.headers.get('idempotent-replay')).toBe('true')
  expect(await cancel(ada.key, headers, office.newId())).toMatchObject({
    status: 409,
    body: { code: 'IDEMPOTENCY_CONFLICT' },
  })
})
