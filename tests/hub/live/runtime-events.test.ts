import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import type { AgentObject } from '../../../src/worker'
import { call, createAccount, post, waitForValue } from '../../support/cast'
import {
  createAgent,
  eventsOf,
  isDone,
  long,
  numbered,
  openSocket,
  running,
  slowly,
  watch,
} from './watch-agents'

const agents = (env as unknown as { AGENTS: DurableObjectNamespace<AgentObject> }).AGENTS

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

describe('L42: events by number', () => {
  test('L42: replayed from any number they equal the whole, while it runs and afterwards', async () => {
    await createAgent('counter', [
      {
        calls: [
          { name: 'hub_search', arguments: { query: 'a' } },
          { name: 'hub_get_feed', arguments: {} },
        ],
      },
      slowly(long),
    ])
    const asked = await post(mira.key, 'Count', '@counter go')
    const id = await running(asked)
    await waitForValue(
      async () => (await eventsOf(id)).some(({ type }) => type === 'tool-result'),
      'events',
    )
    const during = await eventsOf(id)
    expect((await isDone(id)).outcome).toBe('completed')
    const whole = await eventsOf(id)
    expect(whole.slice(0, during.length)).toEqual(during)
    expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, index) => index + 1))
    expect(whole.every(({ activation_id }) => activation_id === id)).toBe(true)
    expect(whole.at(-1)).toMatchObject({ kind: 'task', type: 'response', outcome: 'completed' })
    for (const after of [0, 1, 5, whole.length - 1, whole.length]) {
      expect(await eventsOf(id, after)).toEqual(whole.slice(after))
      const watcher = await watch(id, `view=full&after=${after}`)
      await waitForValue(async () => watcher.isClosed(), 'the replay')
      expect(numbered(watcher)).toEqual(whole.slice(after))
    }
  })

  test('L36 L42: a new machine goes on with the numbers of the old one', async () => {
    const agentId = await createAgent('phoenix', [
      { calls: [{ name: 'hub_search', arguments: { query: 'a' } }] },
      slowly(long),
      slowly(long),
    ])
    const asked = await post(mira.key, 'Crash', '@phoenix go')
    const id = await running(asked)
    const watcher = await watch(id)
    await waitForValue(async () => watcher.text().length > 6, 'words')
    const before = await eventsOf(id)
    await runInDurableObject(agents.getByName(agentId), (_object, state) => {
      state.abort('the machine stops')
    }).catch(() => undefined)
    await agents.getByName(agentId).wake(agentId as never)
    const again = await watch(id, `view=full&after=${before.length}`)
    await isDone(id)
    const whole = await eventsOf(id)
    expect(whole.slice(0, before.length)).toEqual(before)
    expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, index) => index + 1))
    expect(whole.some(({ code }) => code === 'interrupted')).toBe(true)
    await waitForValue(async () => again.isClosed(), 'the end')
    expect(numbered(again)).toEqual(whole.slice(before.length))
  })

  test('L42: unknown activations, wrong numbers and plain requests get the reason', async () => {
    expect((await call('GET', '/api/v1/activations/nope/events')).status).toBe(404)
    expect((await openSocket('/live/activations/nope')).status).toBe(404)
    const asked = await post(mira.key, 'Why', '@counter go')
    const { id } = await waitForValue(
      () =>
        env.DB.prepare('SELECT id FROM activations WHERE post_id = ?')
          .bind(asked)
          .first<{ id: string }>(),
      'the activation',
    )
    expect((await call('GET', `/api/v1/activations/${id}/events?after=-1`)).status).toBe(400)
    expect((await call('GET', `/live/activations/${id}`)).status).toBe(426)
    await isDone(id)
  })
})
