import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { callOnce, type PlannedCall } from '../../../src/hub/agents/model-actions'
import { sweep } from '../../../src/hub/api/sweep'
import type { ActivationId } from '../../../src/shared/ids'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub()
const mira = await hub.join('mira', 'human')
const scout = await hub.join('scout')
await hub.host(scout.id)
// Creates the windows of the hub's budget.
await sweep(hub.context(), hub.clock.now())

const planned: PlannedCall = {
  agentId: scout.id,
  accountId: mira.id,
  model: 'offline/extractive',
  microusd: 700,
  tokens: 90,
  timeoutMs: 10_000,
}
const used = {
  inputTokens: 20,
  cachedTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  microusd: 30,
  isPriced: true,
  isEstimated: false,
  durationMs: 4,
}
const result = { usages: [used] }
const all = async (sql: string) => (await env.DB.prepare(sql).all()).results
const readRows = () => all('SELECT state FROM activations')
const readCharges = () => all('SELECT cost_microusd AS cost FROM usage_events')

beforeEach(async () => {
  hub.seen.findFault = () => null
  await env.DB.prepare('DELETE FROM activations').run()
  await env.DB.prepare('DELETE FROM usage_events').run()
})

test('B4: a call whose charge meets a fault of the database is charged once', async () => {
  for (const isWritten of [false, true]) {
    let faults = 0
    hub.seen.findFault = (sql) =>
      sql.some((each) => /^delete from "?activations/i.test(each)) && faults++ === 0
        ? { message: 'Network connection lost.', isWritten }
        : null
    expect(await callOnce(hub.context(), planned, null, async () => result)).toMatchObject({
      kind: 'called',
    })
    expect(faults).toBe(2)
    expect(await readRows()).toEqual([])
  }
  expect(await readCharges()).toEqual([{ cost: 30 }, { cost: 30 }])
})

test('B4: a sweep charges a lost call in full, so that the agent runs again and the hub can rest', async () => {
  const lost = callOnce(hub.context(), planned, null, () => Promise.reject(new Error('killed')))
  await expect(lost).rejects.toThrow('killed')
  expect((await sweep(hub.context(), hub.clock.now())).running).toBe(1)
  expect(await readRows()).toEqual([{ state: 'running' }])

  hub.clock.advance(10 * 60_000)
  await sweep(hub.context(), hub.clock.now())
  expect((await sweep(hub.context(), hub.clock.now())).running).toBe(0)
  expect([await readRows(), await readCharges()]).toEqual([[], [{ cost: 700 }]])
})

test('B4: a call that was closed as lost and ends after all stays closed', async () => {
  await callOnce(hub.context(), planned, null, async () => {
    await env.DB.prepare("UPDATE activations SET state = 'done'").run()
    return result
  })
  expect([await readRows(), await readCharges()]).toEqual([[{ state: 'done' }], []])
})

test('B4: a call with an id of its own is made and charged once, asked for again while it runs and after it', async () => {
  const once = { ...planned, id: 'one-call-of-a-form' as ActivationId }
  let calls = 0
  const again: unknown[] = []
  const call = async () => {
    calls++
    again.push(await callOnce(hub.context(), once, null, async () => result))
    return result
  }
  expect(await callOnce(hub.context(), once, null, call)).toMatchObject({ kind: 'called' })
  again.push(await callOnce(hub.context(), once, null, call))
  const repeated = { kind: 'refused', reason: 'repeated' }
  expect([calls, again]).toEqual([1, [repeated, repeated]])
  expect([await readRows(), await readCharges()]).toEqual([[], [{ cost: 30 }]])
})
