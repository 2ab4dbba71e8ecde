import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { Explorers } from '../../../bench/simulator/explorers'
import { createRandom } from '../../../bench/simulator/population'
import { ExplorerIndex, pick, tierOf } from '../../../src/agents/scheduler/explorer-index'
import { explorationScheduling } from '../../../src/shared/config'
import type { AccountId } from '../../../src/shared/ids'

const now = 1_900_000_000_000
const hour = 3_600_000

const withIndex = (name: string, work: (index: ExplorerIndex, sql: SqlStorage) => void) =>
  runInDurableObject(env.SCHEDULER.getByName(name), (_object, state) => {
    state.storage.sql.exec('DELETE FROM explorers')
    work(new ExplorerIndex(state.storage.sql), state.storage.sql)
  })

const idOf = (agent: number) => String(agent) as AccountId

const factsOf = (agent: number, fields: { weight?: number; lastExploredAt?: number } = {}) => ({
  agentId: idOf(agent),
  weight: 1,
  intervalMs: explorationScheduling.intervalMs,
  lastExploredAt: now - 5 * hour,
  lastActivatedAt: 0,
  consecutiveFailures: 0,
  isPaused: false,
  ...fields,
})

function takeTurn(index: ExplorerIndex, at: number): AccountId | null {
  const head = pick(index.readHeads(at), at)
  return head ? index.start(head, at) : null
}

test('S12: the order in SQLite and in the simulator are the same, exploration by exploration', async () => {
  await withIndex('as simulated', (index) => {
    const random = createRandom(7)
    const count = 60
    const weight = Float64Array.from({ length: count }, () => 10 ** (2 * random() - 1))
    const lastExploredAt = Float64Array.from({ length: count }, () =>
      Math.floor(now - random() * 50 * hour),
    )
    for (let agent = 0; agent < count; agent++) {
      index.put(
        factsOf(agent, {
          weight: weight[agent] ?? 1,
          lastExploredAt: lastExploredAt[agent] ?? 0,
        }),
      )
    }
    const simulated = new Explorers(
      {
        weight,
        intervalMs: new Float64Array(count).fill(explorationScheduling.intervalMs),
        failChance: new Float64Array(count),
        mentionedCount: 0,
      },
      lastExploredAt,
    )
    const [stored, inMemory] = [[] as (string | null)[], [] as (string | null)[]]
    for (let turn = 0; turn < 500; turn++) {
      const at = now + turn * 20_000
      const hasFailed = turn % 7 === 0
      const agentId = takeTurn(index, at)
      if (agentId)
        index.finish(agentId, {
          at: at + 5_000,
          isExploration: true,
          hasFailed,
          isSatisfied: false,
        })
      stored.push(agentId)
      simulated.promote(at)
      const id = simulated.pick(at)
      if (id >= 0) {
        simulated.start(id)
        simulated.finish(id, at + 5_000, hasFailed)
      }
      inMemory.push(id >= 0 ? String(id) : null)
    }
    expect(stored).toEqual(inMemory)
    expect(new Set(stored).size).toBe(count)
  })
})

test('D6 S7: an agent of weight ten explores three times as often as one of weight one', async () => {
  await withIndex('weights', (index) => {
    for (let agent = 0; agent < 40; agent++) {
      index.put(factsOf(agent, { weight: agent < 20 ? 10 : 1 }))
    }
    const counts = [0, 0]
    for (let turn = 0; turn < 4_000; turn++) {
      const at = now + turn * 120_000
      const agentId = takeTurn(index, at)
      if (!agentId) continue
      index.finish(agentId, { at, isExploration: true, hasFailed: false, isSatisfied: false })
      const kind = Number(agentId) < 20 ? 0 : 1
      counts[kind] = (counts[kind] ?? 0) + 1
    }
    expect((counts[0] ?? 0) / (counts[1] ?? 1)).toBeCloseTo(Math.sqrt(10), 1)
  })
})

test('S4: agents that are not eligible are in no index that a pick reads', async () => {
  await withIndex('plans', (index, sql) => {
    for (let agent = 0; agent < 2_000; agent++) {
      index.put(factsOf(agent, { lastExploredAt: now - 60_000 }))
    }
    index.put(factsOf(2_000, { weight: 3 }))
    index.put({ ...factsOf(2_001), isPaused: true })
    index.put(factsOf(2_002, { weight: 0 }))
    index.readHeads(now)
    const before = sql.exec('SELECT 1').rowsRead
    const heads = index.readHeads(now)
    expect(before).toBe(0)
    expect(heads).toMatchObject([{ tier: tierOf(3) }])
    const plan = sql
      .exec<{ detail: string }>(
        `EXPLAIN QUERY PLAN SELECT seq FROM explorers WHERE place = 1 AND tier = 3 ORDER BY last_at, seq LIMIT 1`,
      )
      .toArray()
    expect(plan.map(({ detail }) => detail).join()).toContain('explorers_ready')
  })
})

test('S4: an agent that never explored and found no post looks again in a minute, another after its interval', async () => {
  await withIndex('first looks', (index) => {
    index.put(factsOf(1, { lastExploredAt: 0 }))
    index.put({ ...factsOf(2, { lastExploredAt: 0 }), intervalMs: 10_000 })
    index.put(factsOf(3))
    for (const agent of [1, 2, 3]) index.markSatisfied(idOf(agent), now)
    const waits = [1, 2, 3].map((agent) => (index.read(idOf(agent))?.eligibleAt ?? 0) - now)
    expect(waits).toEqual([60_000, 10_000, explorationScheduling.intervalMs])
  })
})

test('S2: unchanged facts keep the place of an agent; a later activation changes it', async () => {
  await withIndex('facts', (index) => {
    index.put(factsOf(1))
    const agentId = takeTurn(index, now) as AccountId
    index.finish(agentId, { at: now, isExploration: true, hasFailed: false, isSatisfied: true })
    index.put(factsOf(1, { lastExploredAt: now }))
    expect(takeTurn(index, now + 24 * hour)).toBeNull()
    index.requeueSatisfied(now + hour)
    expect(takeTurn(index, now + 24 * hour)).toBe(agentId)
    index.requeue(agentId, now + 25 * hour)
    index.put(factsOf(1, { lastExploredAt: now + 24.5 * hour }))
    expect(takeTurn(index, now + 24.6 * hour)).toBeNull()
    expect(index.nextEligibleAt()).toBe(now + 24.5 * hour + explorationScheduling.intervalMs)
  })
})

test('S1 S5: a run that is no exploration changes nothing, unless it fails or ends a series of failures', async () => {
  await withIndex('other runs', (index) => {
    index.put(factsOf(1))
    const end = { isExploration: false, hasFailed: false, isSatisfied: false }
    const before = index.read(idOf(1))
    index.finish(idOf(1), { ...end, at: now })
    expect(index.read(idOf(1))).toEqual(before)
    index.finish(idOf(1), { ...end, at: now, hasFailed: true })
    expect(takeTurn(index, now + 29 * 60_000)).toBeNull()
    index.finish(idOf(1), { ...end, at: now + 30 * 60_000 })
    expect(index.read(idOf(1))).toMatchObject({ failures: 0, eligibleAt: before?.eligibleAt })
    expect(takeTurn(index, now + 30 * 60_000)).toBe(idOf(1))
    // a task came first: the exploration is still due
    index.finish(idOf(1), { ...end, at: now + 31 * 60_000 })
    expect(takeTurn(index, now + 31 * 60_000)).toBe(idOf(1))
  })
})

test('S8: a decision reads and writes as many rows among 20,000 agents as among 1,000', async () => {
  const costs: number[][] = []
  for (const count of [1_000, 20_000]) {
    await withIndex(`of ${count}`, (filled, sql) => {
      for (let agent = 0; agent < count; agent++) {
        filled.put(
          factsOf(agent, { weight: agent % 2 === 0 ? 1 : 5, lastExploredAt: now - hour - agent }),
        )
      }
      filled.readHeads(now)
      const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = []
      const counted = {
        exec: (query: string, ...values: SqlStorageValue[]) => {
          const cursor = sql.exec(query, ...values)
          cursors.push(cursor)
          return cursor
        },
      } as SqlStorage
      const index = new ExplorerIndex(counted)
      cursors.length = 0
      for (let turn = 0; turn < 100; turn++) {
        const agentId = takeTurn(index, now + turn) as AccountId
        index.finish(agentId, {
          at: now + turn,
          isExploration: true,
          hasFailed: false,
          isSatisfied: false,
        })
      }
      const sum = (read: (cursor: (typeof cursors)[number]) => number) =>
        cursors.reduce((total, cursor) => total + read(cursor), 0)
      costs.push([sum((cursor) => cursor.rowsRead), sum((cursor) => cursor.rowsWritten)])
    })
  }
  expect(costs[0]?.[0]).toBeGreaterThan(100)
  expect(costs[1]).toEqual(costs[0])
})

test('S12: an agent that waits by a clock that was ahead waits for its interval or the longest backoff at most', async () => {
  const { intervalMs, backOffMsMax } = explorationScheduling
  await withIndex('set back', (index) => {
    const ahead = now + 400 * 24 * hour
    index.put({ ...factsOf(1, { lastExploredAt: ahead }) })
    index.put({ ...factsOf(2, { lastExploredAt: now - intervalMs + 1 }) })
    index.put({ ...factsOf(3), lastActivatedAt: ahead, consecutiveFailures: 3 })
    expect([takeTurn(index, now), takeTurn(index, now), takeTurn(index, now)].sort()).toEqual([
      '1',
      '3',
      null,
    ])
    // a wait that a rule allows is kept
    const longest = now + Math.max(intervalMs, backOffMsMax)
    index.requeue(idOf(2), longest)
    index.readHeads(now)
    expect(index.read(idOf(2))?.eligibleAt).toBe(longest)
  })
})

test('S4 S5: an agent that waits for news, or does not explore, stays so when another run of it fails', async () => {
  await withIndex('failed elsewhere', (index) => {
    index.put(factsOf(1))
    index.put({ ...factsOf(2), isPaused: true })
    index.markSatisfied(idOf(1), now)
    for (const agent of [idOf(1), idOf(2)]) {
      index.finish(agent, {
        at: now + 1,
        isExploration: false,
        hasFailed: true,
        isSatisfied: false,
      })
    }
    const later = now + 200 * hour
    expect(takeTurn(index, later)).toBeNull()
    index.requeueSatisfied(now + 2)
    expect(takeTurn(index, later)).toBe(idOf(1))
    expect(takeTurn(index, later)).toBeNull()
  })
})
