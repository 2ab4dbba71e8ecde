import { exports } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import { adminKey, call, createAccount, post, waitForReply, waitForValue } from '../../support/cast'
import {
  createAgent,
  isDone,
  long,
  numbered,
  running,
  slowly,
  typesOf,
  watch,
} from './watch-agents'

let mira: Awaited<ReturnType<typeof createAccount>>
let tomas: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
  tomas = await createAccount('tomas')
})
afterAll(() => {
  vi.restoreAllMocks()
})

/** A form of our own pages, sent as a browser without scripts does. */
const send = (path: string, fields: Record<string, string>, cookie = ''): Promise<Response> =>
  exports.default.fetch(
    new Request(`http://hub.test${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        origin: 'http://hub.test',
        cookie,
      },
      body: new URLSearchParams(fields).toString(),
      redirect: 'manual',
    }),
  )

async function signIn(key: string): Promise<string> {
  const response = await send('/login', { key, next: '/' })
  return response.headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** Searches that never come back by themselves; the gateway takes this in when it is made. */
const search = { begun: 0, stopped: 0 }
const searchTool = hubServer.tools.find(({ name }) => name === 'search')
if (!searchTool) throw new Error('no search')
vi.spyOn(searchTool, 'prepare').mockReturnValue({
  ok: true,
  grant: 'hub:read',
  tier: 'read',
  args: {},
  service: null,
  current: [],
  staysInTask: () => true,
  run: ({ signal }) => {
    search.begun++
    signal.addEventListener('abort', () => {
      search.stopped++
    })
    return new Promise(() => {})
  },
})

describe('L34: stopping what is watched', () => {
  test('L34: a stop over the API cuts off the model in the middle of its words', async () => {
    await createAgent('rambler', [slowly(long.repeat(20))])
    const asked = await post(mira.key, 'Stop', '@rambler go')
    const id = await running(asked)
    const watcher = await watch(id)
    await waitForValue(async () => watcher.text().length > 12, 'words')
    expect(
      (await call('POST', `/api/v1/activations/${id}/cancel`, { key: tomas.key })).status,
    ).toBe(403)
    expect((await call('POST', `/api/v1/activations/${id}/cancel`, { key: mira.key })).status).toBe(
      200,
    )
    expect((await isDone(id)).outcome).toBe('cancelled')
    await waitForValue(async () => watcher.isClosed(), 'the end')
    expect(numbered(watcher).at(-1)).toMatchObject({ type: 'response', outcome: 'cancelled' })
    expect(typesOf(watcher.heard)).toContain('warning')
    expect((await waitForReply(asked, 'rambler')).content).toContain('asked to stop')
    expect((await call('POST', `/api/v1/activations/${id}/cancel`, { key: adminKey })).status).toBe(
      409,
    )
  })

  test('L34: the stop button ends it in the middle of its words, without a script', async () => {
    await createAgent('chatty', [slowly(long.repeat(20))])
    const asked = await post(mira.key, 'Button', '@chatty go')
    const id = await running(asked)
    const watcher = await watch(id, 'view=thread')
    await waitForValue(async () => watcher.text().length > 12, 'words')
    const cookie = await signIn(mira.key)
    const pressed = await send(`/activations/${id}/stop`, { post_id: asked }, cookie)
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, `/p/${asked}`])
    expect((await isDone(id)).outcome).toBe('cancelled')
    await waitForValue(async () => watcher.isClosed(), 'the end')
    expect(numbered(watcher).at(-1)).toMatchObject({ type: 'response', outcome: 'cancelled' })
  })

  test.each(['api', 'page'] as const)(
    'L34: a stop by %s ends it while a tool hangs; the call has its result, the plan its failed step',
    async (by) => {
      const name = `stuck-${by}`
      const before = { ...search }
      await createAgent(name, [{ calls: [{ name: 'hub_search', arguments: { query: 'x' } }] }])
      const asked = await post(mira.key, 'Hang', `@${name} go`)
      const id = await running(asked)
      const watcher = await watch(id)
      await waitForValue(async () => search.begun > before.begun, 'the tool')
      await waitForValue(async () => typesOf(watcher.heard).includes('tool-call'), 'the call')
      if (by === 'api') {
        const path = `/api/v1/activations/${id}/cancel`
        expect((await call('POST', path, { key: mira.key })).status).toBe(200)
      } else {
        const stopped = await send(`/activations/${id}/stop`, {}, await signIn(mira.key))
        expect(stopped.headers.get('location')).toBe(`/activations/${id}`)
      }
      expect((await isDone(id)).outcome).toBe('cancelled')
      await waitForValue(async () => watcher.isClosed(), 'the end')
      expect(search.stopped - before.stopped).toBe(1)
      const received = numbered(watcher)
      expect(received.filter(({ type }) => type === 'tool-result')).toMatchObject([
        { is_error: true, text: 'Error: operation cancelled by user.' },
      ])
      const { body } = await call<{ trace: { plan: unknown } }>('GET', `/api/v1/activations/${id}`)
      expect(body.trace.plan).toMatchObject({
        steps: [{ title: 'hub_search', status: 'failed' }],
        progress: 0,
      })
    },
  )
})
