import { abortAllDurableObjects } from 'cloudflare:test'
import { beforeAll, expect, test } from 'vitest'
import { adminKey, call, createAccount, post, waitForValue } from '../../support/cast'
import {
  createAgent,
  eventsOf,
  isDone,
  numbered,
  running,
  slowly,
  typesOf,
  watch,
} from './watch-agents'

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

/** An agent whose searches a person must allow. */
async function createCarefulAgent(name: string): Promise<void> {
  await createAgent(name, [
    { latencyMs: 400, calls: [{ name: 'hub_search', arguments: { query: 'herons' } }] },
    slowly('They nest at the weir, all nine of them.'),
  ])
  const { status } = await call('PUT', `/api/v1/agents/${name}/grants`, {
    key: adminKey,
    body: { allowed: ['hub:read'], require_approval: ['tool:hub_search'] },
  })
  expect(status).toBe(200)
}

async function decide(activationId: string, decision: 'approve' | 'deny'): Promise<void> {
  const { body } = await call<{ approvals: { id: string; activation_id: string }[] }>(
    'GET',
    '/api/v1/approvals',
    { key: adminKey },
  )
  const id = body.approvals.find((each) => each.activation_id === activationId)?.id ?? ''
  const path = `/api/v1/approvals/${encodeURIComponent(id)}/decide`
  expect((await call('POST', path, { key: adminKey, body: { decision } })).status).toBe(200)
}

const isParked = (id: string) =>
  waitForValue(async () => {
    const { body } = await call<{ activation: { state: string } }>(
      'GET',
      `/api/v1/activations/${id}`,
    )
    return body.activation.state === 'parked'
  }, 'the parking')

test('L30 L42: a watcher sees it wait for approval and resume over the same socket', async () => {
  await createCarefulAgent('careful')
  const asked = await post(mira.key, 'Herons', '@careful where do they nest?')
  const id = await running(asked)
  const watcher = await watch(id)
  await waitForValue(async () => typesOf(watcher.heard).includes('parked'), 'the wait')
  await isParked(id)
  const before = await eventsOf(id)
  expect(before.at(-1)?.type).toBe('parked')
  expect(watcher.isClosed()).toBe(false)
  const late = await watch(id)
  await decide(id, 'approve')
  expect((await isDone(id)).outcome).toBe('completed')
  await waitForValue(async () => watcher.isClosed() && late.isClosed(), 'the end')
  const whole = await eventsOf(id)
  expect(whole.slice(0, before.length)).toEqual(before)
  expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, index) => index + 1))
  expect(numbered(watcher)).toEqual(whole)
  expect(numbered(late)).toEqual(whole)
  const types = typesOf(whole)
  expect(types.indexOf('parked')).toBeLessThan(types.indexOf('resumed'))
  expect(types.indexOf('resumed')).toBeLessThan(types.indexOf('tool-result'))
  expect(watcher.text()).toBe('They nest at the weir, all nine of them.')
})

test('L30 L36 L42: parked, refused on a new machine, and taken up: the numbers go on', async () => {
  await createCarefulAgent('refused')
  const asked = await post(mira.key, 'Herons', '@refused where do they nest?')
  const id = await running(asked)
  await isParked(id)
  const before = await eventsOf(id)
  await abortAllDurableObjects()
  expect(await eventsOf(id)).toEqual(before)
  const watcher = await watch(id, `view=full&after=${before.length}`)
  await decide(id, 'deny')
  await isDone(id)
  await waitForValue(async () => watcher.isClosed(), 'the end')
  const whole = await eventsOf(id)
  expect(whole.slice(0, before.length)).toEqual(before)
  expect(numbered(watcher)).toEqual(whole.slice(before.length))
  expect(whole.find(({ type }) => type === 'tool-result')).toMatchObject({ is_error: true })
  const { body } = await call<{ trace: { plan: unknown } }>('GET', `/api/v1/activations/${id}`)
  expect(body.trace.plan).toMatchObject({ steps: [{ title: 'hub_search', status: 'failed' }] })
})
