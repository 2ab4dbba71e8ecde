import { beforeAll, describe, expect, it } from 'vitest'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
let scoutKey: string
let miraKey: string
let outsideKey: string

const snapshot = {
  summary: 'They agreed on pelicans.',
  activations: 3,
  input_tokens: 100,
  cached_tokens: 10,
  output_tokens: 20,
  cost_microusd: 7,
  created_at: '2026-01-01T00:00:00.000Z',
  messages: [
    { role: 'user', text: 'how many?' },
    {
      role: 'assistant',
      text: '',
      calls: [{ call_id: 'c1', name: 'hub_search', arguments: '{}' }],
    },
    {
      role: 'tool',
      results: [{ call_id: 'c1', name: 'hub_search', text: '412', is_error: false }],
    },
    { role: 'assistant', text: '412', calls: [] },
  ],
}
const base = '/agents/scout/sessions'

beforeAll(async () => {
  const scout = await hub.join('scout')
  await hub.host(scout.id)
  scoutKey = scout.key
  outsideKey = (await hub.join('outsider')).key
  miraKey = (await hub.join('mira', 'human')).key
})

describe('sessions of an agent', () => {
  it('L40: a restored snapshot is returned unchanged', async () => {
    const put = { method: 'PUT', key: adminKey, body: snapshot }
    expect((await hub.call(`${base}/general_p1`, put)).status).toBe(200)
    const { status, body } = await hub.call(`${base}/general_p1`, { key: adminKey })
    expect(status).toBe(200)
    expect(body.session).toMatchObject({ id: 'general_p1', ...snapshot })
    const list = await hub.call(base, { key: scoutKey })
    expect(list.body.sessions).toMatchObject([{ id: 'general_p1', message_count: 4 }])
    // what GET gives is what PUT takes
    const again = { method: 'PUT', key: scoutKey, body: body.session }
    expect((await hub.call(`${base}/general_p1`, again)).body.session.messages).toEqual(
      snapshot.messages,
    )
  })

  it('L40: a snapshot holds the last prompt, the last answer and the context limit', async () => {
    const last = { last_prompt_tokens: 900, last_completion_tokens: 40, context_limit: 8_192 }
    const put = (body: object) => ({ method: 'PUT', key: adminKey, body })
    const { body } = await hub.call(`${base}/general_p3`, put({ ...snapshot, ...last }))
    expect(body.session).toMatchObject(last)
    const nothing = { last_prompt_tokens: null, last_completion_tokens: null, context_limit: null }
    const older = await hub.call(`${base}/general_p3`, put(snapshot))
    expect(older.body.session).toMatchObject(nothing)
    const again = await hub.call(`${base}/general_p3`, put({ ...snapshot, ...nothing }))
    expect(again.status).toBe(200)
    await hub.call(`${base}/general_p3`, { method: 'DELETE', key: adminKey })
  })

  it('L40: a session can be compacted and reset; an unknown session returns 404', async () => {
    const post = { method: 'POST', key: adminKey }
    const { body } = await hub.call(`${base}/general_p1/compact`, post)
    const nothing = { replaced: 0, messages: 4, by: null, note: null, cost_microusd: 0 }
    expect(body.compacted).toEqual({ id: 'general_p1', ...nothing })
    const remove = { method: 'DELETE', key: adminKey }
    expect((await hub.call(`${base}/general_p1`, remove)).body.deleted).toBe('general_p1')
    expect((await hub.call(`${base}/general_p1`, remove)).status).toBe(404)
    expect((await hub.call(`${base}/general_p1`, { key: adminKey })).status).toBe(404)
    expect((await hub.call(`${base}/general_p1/compact`, post)).status).toBe(404)
  })

  it('H6: a compaction with an Idempotency-Key runs once, and a retry returns its response', async () => {
    const id = 'general_p2'
    await hub.call(`${base}/${id}`, { method: 'PUT', key: adminKey, body: snapshot })
    const headers = { 'idempotency-key': 'compact-1' }
    const compact = () =>
      hub.call(`${base}/${id}/compact`, { method: 'POST', key: adminKey, headers })
    const first = await compact()
    await hub.call(`${base}/${id}`, { method: 'DELETE', key: adminKey })
    const again = await compact()
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(again.headers.get('idempotent-replay')).toBe('true')
  })

  it('L40: only admins and the agent itself can read or change sessions', async () => {
    const put = { method: 'PUT', body: snapshot }
    for (const key of [miraKey, null]) {
      const status = key === null ? 401 : 403
      expect((await hub.call(base, { key })).status).toBe(status)
      expect((await hub.call(`${base}/general_p1`, { key })).status).toBe(status)
      expect((await hub.call(`${base}/general_p1`, { ...put, key })).status).toBe(status)
      expect((await hub.call(`${base}/x_y`, { method: 'DELETE', key })).status).toBe(status)
      expect((await hub.call(`${base}/x_y/compact`, { method: 'POST', key })).status).toBe(status)
    }
    const unknown = '/agents/nobody/sessions'
    expect((await hub.call(unknown, { key: adminKey })).status).toBe(404)
  })

  it.each([
    ['a call without its result', [snapshot.messages[1], snapshot.messages[3]]],
    ['a result without its call', [snapshot.messages[0], snapshot.messages[2]]],
    ['a call at the end', snapshot.messages.slice(0, 2)],
    ['a system message', [{ role: 'system', text: 'obey' }]],
  ])('L40: %s is refused', async (_what, messages) => {
    const put = { method: 'PUT', key: adminKey, body: { messages } }
    const { status, body } = await hub.call(`${base}/general_p9`, put)
    expect(status).toBe(400)
    expect(body.code).toBe('VALIDATION')
  })

  it('L40: an account that this hub does not run has no sessions, and none are created', async () => {
    for (const [name, key] of [
      ['mira', miraKey],
      ['outsider', outsideKey],
      ['outsider', adminKey],
    ] as const) {
      const put = { method: 'PUT', key, body: snapshot }
      const answer = await hub.call(`/agents/${name}/sessions/general_p1`, put)
      expect(answer).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND', hint: 'Only agents that this hub runs have sessions.' },
      })
      expect((await hub.call(`/agents/${name}/sessions`, { key })).status).toBe(404)
    }
  })

  it('L40: a session id must have a channel and a chat id', async () => {
    const put = { method: 'PUT', key: adminKey, body: snapshot }
    expect((await hub.call(`${base}/general`, put)).status).toBe(400)
  })
})
