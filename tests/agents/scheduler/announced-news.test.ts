import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { ExplorationQueue } from '../../../src/agents/scheduler/exploration-queue'
import { explorationScheduling } from '../../../src/shared/config'
import type { AccountId } from '../../../src/shared/ids'

const { slotMs } = explorationScheduling
const agentId = 'scout' as AccountId

/** What the hub reports when an agent explores and its newest post becomes news at a time. */
const reportOf = (newestAt: number) => ({
  explorers: [
    {
      agentId,
      weight: 1,
      intervalMs: 1,
      lastExploredAt: 0,
      lastActivatedAt: 0,
      consecutiveFailures: 0,
      isPaused: false,
    },
  ],
  schedules: [],
  newContentAt: [newestAt],
  isThrottled: false,
  isInboxWaiting: false,
  runningExploration: 0,
  next: null,
})

test('S10: an object that was restarted offers what was announced to its predecessor, once', () =>
  runInDurableObject(env.AGENTS.getByName('announced'), (_agent, { storage: { sql } }) => {
    const boot = () => new ExplorationQueue(sql, { mode: 'hybrid', capacity: 5 })
    const begin = 1_000 * slotMs
    const first = boot()
    first.applyReport(reportOf(begin - slotMs) as never, 0)
    expect(first.startEligible(begin)).toEqual([agentId])
    first.recordOutcome({ kind: 'found_nothing', agentId, at: begin })
    first.announceNews(begin + 4 * slotMs)
    // posts go on, so that a report has a later time only
    first.announceNews(begin + 8 * slotMs)

    const second = boot()
    second.applyReport(reportOf(begin + 8 * slotMs) as never, 0)
    expect(second.computeNextAt(begin + slotMs)).toBe(begin + 4 * slotMs)
    expect(second.startEligible(begin + 3 * slotMs)).toEqual([])
    expect(second.startEligible(begin + 4 * slotMs)).toEqual([agentId])
    second.recordOutcome({ kind: 'found_nothing', agentId, at: begin + 4 * slotMs })

    const third = boot()
    third.applyReport({ ...reportOf(begin + 8 * slotMs), explorers: [] } as never, 0)
    expect(third.startEligible(begin + 5 * slotMs)).toEqual([])
    expect(third.startEligible(begin + 8 * slotMs)).toEqual([agentId])
  }))
