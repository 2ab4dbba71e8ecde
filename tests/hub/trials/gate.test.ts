import { describe, expect, test } from 'vitest'
import type { TrialGate } from '../../../src/hub/contract/hub'
import { decideGate } from '../../../src/hub/trials/gate'
import type { TrialSummary } from '../../../src/hub/trials/summary'
import type { TrialStatus } from '../../../src/hub/trials/trial-actions'

const both = <Value>(value: Value) => ({ baseline: value, candidate: value })

const toSummary = (counts: Partial<TrialSummary>): TrialSummary => ({
  better: 0,
  worse: 0,
  same: 0,
  cannotTell: 0,
  waiting: 0,
  open: 0,
  skipped: 0,
  interval: null,
  noise: 0,
  claim: 'same',
  reason: '',
  costMicrousd: 0,
  reused: 0,
  passed: both({ samples: 0, of: 0, allSamples: 0, cases: 0 }),
  costMonthMicrousd: both(1_000),
  durationMs: both({ p50: 0, p95: 0 }),
  toolErrors: both(0),
  agreement: null,
  ...counts,
})

const gate = { worseMax: 0, costChangeMax: null }
const dearer = (baseline: number, candidate: number) => ({
  same: 12,
  costMonthMicrousd: { baseline, candidate },
})

type Row = [
  string,
  Omit<TrialGate, 'set' | 'repeats'>,
  TrialStatus,
  Partial<TrialSummary>,
  'wait' | 'pass' | 'fail',
]

describe('what becomes of a saved change', () => {
  test.each<Row>([
    ['all the same', gate, 'done', { same: 12 }, 'pass'],
    ['better', gate, 'done', { better: 3, same: 9 }, 'pass'],
    ['one worse, none may be', gate, 'done', { worse: 1, better: 11 }, 'fail'],
    ['one worse, one may be', { ...gate, worseMax: 1 }, 'done', { worse: 1, same: 11 }, 'pass'],
    ['two worse, one may be', { ...gate, worseMax: 1 }, 'done', { worse: 2, same: 10 }, 'fail'],
    ['it runs', gate, 'running', { same: 3, open: 9 }, 'wait'],
    ['it runs and is worse already', gate, 'running', { worse: 1, open: 9 }, 'fail'],
    ['it has not begun', gate, 'queued', { open: 12 }, 'wait'],
    ['people have to compare', gate, 'done', { same: 11, waiting: 1 }, 'wait'],
    ['cancelled', gate, 'cancelled', { same: 12 }, 'fail'],
    ['no case could be decided', gate, 'done', { cannotTell: 12 }, 'fail'],
    ['no case could run', gate, 'done', { skipped: 12 }, 'fail'],
    ['few could be decided', gate, 'done', { cannotTell: 5, skipped: 1, same: 6 }, 'fail'],
    ['most could be decided', gate, 'done', { cannotTell: 5, same: 7 }, 'pass'],
    ['any cost', gate, 'done', dearer(1_000, 90_000), 'pass'],
    ['a fifth more', { ...gate, costChangeMax: 0.2 }, 'done', dearer(1_000, 1_200), 'pass'],
    ['more than that', { ...gate, costChangeMax: 0.2 }, 'done', dearer(1_000, 1_201), 'fail'],
    ['it must be cheaper', { ...gate, costChangeMax: -0.5 }, 'done', dearer(1_000, 500), 'pass'],
    ['it is not', { ...gate, costChangeMax: -0.5 }, 'done', dearer(1_000, 501), 'fail'],
    ['free stays free', { ...gate, costChangeMax: 0 }, 'done', dearer(0, 0), 'pass'],
    ['free costs now', { ...gate, costChangeMax: 100 }, 'done', dearer(0, 1), 'fail'],
    [
      'no known price',
      { ...gate, costChangeMax: 1 },
      'done',
      { same: 12, costMonthMicrousd: null },
      'fail',
    ],
  ])('P7: %s', (_, of, status, counts, expected) => {
    expect(decideGate(of, status, toSummary(counts)).kind).toBe(expected)
  })
})
