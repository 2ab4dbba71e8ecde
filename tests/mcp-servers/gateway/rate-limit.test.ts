import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { servers } from '../../../src/mcp-servers/servers'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { adminKey, createTestHub } from '../../hub/create-test-hub'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const hub = createTestHub()
const finch = await hub.join('finch')
const wren = await hub.join('wren')
const contexts: ReturnType<typeof hub.context>[] = []
const hubApi = createHubApi(() => {
  const context = hub.context()
  contexts.push(context)
  return context
})
const gateway = createGateway({
  ...testFileStores,
  hub: hubApi,
  memory: fakeMemory,
  clock: hub.clock,
  servers,
})
const outside: ToolCaller = {
  accountId: finch.id,
  name: 'finch',
  kind: 'agent',
  activationId: null,
  postId: null,
  tiers: ['read', 'write', 'destructive'],
}
const atWork = (postId: string): ToolCaller => ({
  ...outside,
  activationId: '00000000-0000-7000-8000-00000000a001' as ActivationId,
  postId: postId as PostId,
})
let calls = 0
const call = async (caller: ToolCaller, tool = 'hub_get_feed') => {
  contexts.length = 0
  const asked = { callId: `call-${++calls}`, tool, arguments: '{}' }
  const result = await gateway.call(caller, asked, new AbortController().signal)
  const trips = contexts.reduce((sum, { db }) => sum + db.cost.roundTrips, 0)
  return { ...result, trips }
}
const limit = (rate_limits: object[], name = 'finch') =>
  hub.call(`/agents/${name}/grants`, {
    method: 'PUT',
    key: adminKey,
    body: { allowed: ['hub:*'], rate_limits },
  })
const tool = 'hub_get_feed'

beforeEach(async () => {
  await env.DB.prepare('DELETE FROM rate_buckets').run()
  await limit([])
})

test('M8: over the limit the result says when to try again, and nothing runs', async () => {
  await limit([{ tool, per: 'minute', limit: 2 }])
  expect((await call(outside)).isError).toBe(false)
  expect((await call(outside)).isError).toBe(false)
  const third = await call(outside)
  expect(third.text).toBe('Error: Rate limit of hub_get_feed reached. Retry after 30 s.')
  expect(third.audit).toMatchObject({ decision: 'rate_limited', outcome: null })
  hub.clock.advance(29_999)
  expect((await call(outside)).text).toContain('Retry after 1 s.')
  hub.clock.advance(1)
  expect((await call(outside)).isError).toBe(false)
  expect((await call(outside)).isError).toBe(true)
})

test('L37: only a configured limit costs a round trip, and only for what it names', async () => {
  expect((await call(atWork('p'))).trips).toBe(2)
  await limit([{ tool, per: 'hour', limit: 5 }])
  expect((await call(atWork('p'))).trips).toBe(3)
  expect((await call(atWork('p'), 'hub_budget_status')).trips).toBe(2)
})

test('M8: forty calls at once against a limit of seven: seven run', async () => {
  await limit([{ grant: 'hub:*', per: 'day', limit: 7 }])
  const callers = [outside, atWork('one'), atWork('two')]
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, i) => call(callers[i % 3] ?? outside)),
  )
  expect(results.filter(({ isError }) => !isError)).toHaveLength(7)
})

test('L31: a limit for each session counts each thread for itself; one for the agent counts all', async () => {
  await limit([
    { tool, per: 'hour', limit: 1, scope: 'session' },
    { tool, per: 'hour', limit: 2 },
  ])
  const decisions = []
  for (const post of ['one', 'one', 'two', 'three']) {
    decisions.push((await call(atWork(post))).audit.decision)
  }
  expect(decisions).toEqual(['allowed', 'rate_limited', 'allowed', 'rate_limited'])
})

test('M8: a call over several limits is told when the last of them allows it', async () => {
  await limit([
    { tool, per: 'minute', limit: 1 },
    { grant: 'hub:read', per: 'hour', limit: 1 },
    { grant: 'hub:*', per: 'day', limit: 9 },
  ])
  await call(outside)
  expect((await call(outside)).text).toContain('Retry after 3600 s.')
})

test('M8: a call that one bucket refuses takes from none', async () => {
  await limit([
    { tool, per: 'minute', limit: 1 },
    { grant: 'hub:read', per: 'day', limit: 3 },
  ])
  for (let i = 0; i < 5; i++) await call(outside)
  const { results } = await env.DB.prepare(
    `SELECT tokens FROM rate_buckets WHERE id LIKE '%/day'`,
  ).all()
  expect(results).toEqual([{ tokens: 2 }])
})

test('M8: the default limits hold for every account, each with buckets of its own', async () => {
  await limit([{ tool, per: 'minute', limit: 1 }], '*')
  const other = { ...outside, accountId: wren.id, name: 'wren' }
  expect((await call(outside)).isError).toBe(false)
  expect((await call(other)).isError).toBe(false)
  expect((await call(outside)).isError).toBe(true)
  await limit([], '*')
  expect((await call(outside)).isError).toBe(false)
})

test('L31: a read that is over its limit shows nothing of what was read', async () => {
  await limit([{ tool, per: 'minute', limit: 1 }])
  await call(atWork('p'))
  const result = await call(atWork('p'))
  expect(result.isError).toBe(true)
  expect(result.text).not.toContain('posts')
})

test('M8: in any stretch of time no more runs than the bucket holds and what filled it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 12 }),
      async (size, waits) => {
        await env.DB.prepare('DELETE FROM rate_buckets').run()
        const bucket = { id: 'b', limit: size, perMs: 60_000 }
        const start = hub.clock.now()
        let taken = 0
        for (const wait of waits) {
          hub.clock.advance(wait)
          const { isTaken, retryMs } = await hubApi.takeRateLimit([bucket], hub.clock.now())
          if (isTaken) taken++
          else expect(retryMs).toBeGreaterThan(0)
        }
        const filled = ((hub.clock.now() - start) * size) / 60_000
        expect(taken).toBeLessThanOrEqual(size + filled + 1e-6)
        expect(taken).toBeGreaterThanOrEqual(Math.min(waits.length, size))
      },
    ),
    { numRuns: 25 },
  )
})

test('M8: an idle bucket is forgotten by the sweep', async () => {
  await limit([{ tool, per: 'minute', limit: 1 }])
  await call(outside)
  hub.clock.advance(3 * 86_400_000)
  await hubApi.sweep(hub.clock.now())
  expect(await env.DB.prepare('SELECT count(*) AS n FROM rate_buckets').first('n')).toBe(0)
})
