import { expect, it } from 'vitest'
import {
  buildStatusTail,
  createStatusPlaceholder,
  type StatusSources,
} from '../../../src/agents/context/status-tail'
import { describeBudget } from '../../../src/agents/hooks/hooks'
import { initialState } from '../../../src/agents/loop/state'
import { statusMarker } from '../../../src/agents/models/to-prompt'
import type { BudgetStatus } from '../../../src/hub/contract/hub'
import type { BudgetId } from '../../../src/shared/ids'

const budget = (spent: number, over: Partial<BudgetStatus> = {}): BudgetStatus => ({
  id: 'b' as BudgetId,
  scope: 'agent',
  scopeId: 'scout',
  period: 'day',
  warningShare: 0.8,
  throttleShare: 0.9,
  criticalShare: 1,
  level: 'healthy',
  isRefusing: false,
  limitMicrousd: 1_000_000,
  limitTokens: null,
  spentMicrousd: spent,
  spentTokens: 0,
  reservedMicrousd: 0,
  reservedTokens: 0,
  endsAt: 0,
  ...over,
})

const limits = { iterations: 10, tokens: 100_000, durationMs: 0, contextTokens: 8_192 }
const standing: StatusSources = {
  state: { ...initialState, limits, iteration: 3, tokens: 40_000, endsAt: 65_000 },
  environment: { inboxDepth: 2, runningActivations: 1 },
  storageBytes: 20_500,
  files: { files: 12, bytes: 345_000 },
  hubName: 'Nest',
  now: 5_000,
  shownAt: 5_000,
}

it('L13: time, what is left, inbox, who works, storage, where it runs', () => {
  expect(buildStatusTail(standing).split('\n')).toEqual([
    statusMarker,
    'Time: 1970-01-01T00:00:05.000Z. Left for this task: 7 more steps, 60000 tokens, 60 s.',
    '2 more tasks are waiting in your inbox. On the hub 1 agent is running, including you.',
    'Your workspace has 12 of 500 files, 337 KiB of 51200 KiB.',
    'You run in a Durable Object of Nest; it stores 21 KiB.',
  ])
  expect(buildStatusTail({ ...standing, files: null })).not.toContain('workspace')
})

it('L13: the longest status fits the space that is reserved for it', () => {
  const many = 1_234_567_890
  const full = buildStatusTail({
    ...standing,
    state: { ...standing.state, limits: { ...limits, tokens: many }, endsAt: many },
    environment: { inboxDepth: many, runningActivations: many },
    files: { files: 500, bytes: 50 * 1024 * 1024 },
    storageBytes: many,
  })
  expect(createStatusPlaceholder('Nest')).toEqual({
    role: 'user',
    text: expect.stringMatching(new RegExp(`^.{${full.length},}$`)),
  })
})

it.each([
  [500_000, { level: 'healthy' }, 'Your budget for this day: 50 % used, $0.50 left.'],
  [850_000, { level: 'warning' }, 'Your budget for this day: 85 % used, $0.15 left. Be sparing.'],
  [
    900_000,
    { level: 'throttle' },
    'Your budget for this day: 90 % used, $0.10 left. Explorations are paused. Be brief.',
  ],
  [
    600_000,
    { level: 'critical', isRefusing: true },
    'Your budget for this day: 60 % used, $0.40 left. Calls that need more are refused. Be brief.',
  ],
  [
    1_200_000,
    { level: 'critical' },
    'Your budget for this day: 120 % used, $0.00 left. It is used up: all paid work is paused. Finish now.',
  ],
] as const)('L12: the budget is described at %i micro-dollars', (spent, level, words) => {
  expect(describeBudget(budget(spent, level))).toBe(words)
})

it('L12: token limits, no limit and a limit of 0 are described', () => {
  const tokens = budget(0, {
    limitMicrousd: null,
    limitTokens: 1_000,
    spentTokens: 250,
    scope: 'hub',
  })
  const open = budget(0, { limitMicrousd: null, scope: 'model', period: 'month' })
  const none = budget(0, { limitMicrousd: 0 })
  expect([tokens, open, none].map(describeBudget)).toEqual([
    "The hub's budget for this day: 25 % used, 750 tokens left.",
    "The model's budget for this month has no limit.",
    'Your budget for this day is 0: no spending is allowed.',
  ])
})

it('L12: of two limits the one with the greater share used is described', () => {
  const both = { limitTokens: 1_000, spentTokens: 950, level: 'throttle' } as const
  expect([
    describeBudget(budget(100_000, both)),
    describeBudget(budget(970_000, both)),
    describeBudget(budget(0, { ...both, limitMicrousd: 0 })),
    describeBudget(budget(0, { limitTokens: 0 })),
  ]).toEqual([
    'Your budget for this day: 95 % used, 50 tokens left. Explorations are paused. Be brief.',
    'Your budget for this day: 97 % used, $0.03 left. Explorations are paused. Be brief.',
    'Your budget for this day is 0: no spending is allowed.',
    'Your budget for this day is 0: no spending is allowed.',
  ])
})
