import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { countEvents } from '../../../src/agents/run/counters'
import { toRunLog } from '../../../src/agents/run/run-log'
import { answered, auditOf, charge, failed, loaded, returned, start, woken } from './events'

const nothing = {
  modelRequests: 0,
  modelFailures: 0,
  toolExecutions: 0,
  toolFailures: 0,
  permissionDenials: 0,
  toolRefusals: 0,
  compactions: 0,
  retries: 0,
  parks: 0,
  exportFailures: 0,
}
const denied = { audit: auditOf('a', { decision: 'denied' }), isError: true }
const compacted = (over: object): LoopEvent =>
  ({ type: 'compacted', at: start, charge: charge(), problem: null, ...over }) as LoopEvent

test.each<[string, LoopEvent[], object]>([
  ['an activation that found nothing', [woken()], {}],
  ['one answer', [woken(), loaded(), answered(start, [])], { modelRequests: 1 }],
  [
    'a call of a tool',
    [answered(start, ['a']), returned('a', start), answered(start, [])],
    { modelRequests: 2, toolExecutions: 1 },
  ],
  [
    'a tool that ran and failed',
    [returned('a', start, { isError: true })],
    { toolExecutions: 1, toolFailures: 1 },
  ],
  ['a call without a grant', [returned('a', start, denied)], { permissionDenials: 1 }],
  [
    'a call over a rate limit (L31)',
    [returned('a', start, { ...denied, audit: auditOf('a', { decision: 'rate_limited' }) })],
    { permissionDenials: 1 },
  ],
  [
    'a call that a hook denied',
    [
      returned('a', start, {
        audit: null,
        isError: true,
        hooks: [{ hook: 'guard', point: 'beforeToolCall', ms: 1, outcome: 'denied' }],
      }),
    ],
    { permissionDenials: 1 },
  ],
  [
    'arguments that were not valid, and an unknown tool: neither ran nor was denied',
    [
      returned('a', start, { ...denied, audit: auditOf('a', { decision: 'invalid' }) }),
      returned('b', start, { ...denied, audit: auditOf('b', { decision: 'unknown_tool' }) }),
    ],
    { toolRefusals: 2 },
  ],
  [
    'more calls than a step may have',
    [
      answered(
        start,
        Array.from({ length: 18 }, (_, n) => `call-${n}`),
      ),
    ],
    { modelRequests: 1, toolRefusals: 2 },
  ],
  [
    'calls of a truncated answer',
    [answered(start, ['a', 'b'], {}, 'length')],
    { modelRequests: 1, toolRefusals: 2 },
  ],
  [
    'two failures and then an answer',
    [failed(start), failed(start), answered(start, [])],
    { modelRequests: 3, modelFailures: 2, retries: 2 },
  ],
  [
    'a failure that ended it',
    [answered(start, ['a']), failed(start)],
    { modelRequests: 2, modelFailures: 1 },
  ],
  [
    'a crash that lost an answer and a tool call',
    [
      answered(start, ['a']),
      { type: 'interrupted', at: start, unknownCallIds: ['a'], charge: charge() },
    ],
    { modelRequests: 2, modelFailures: 1, toolExecutions: 1, toolFailures: 1 },
  ],
  [
    'a crash in between',
    [{ type: 'interrupted', at: start, unknownCallIds: [], charge: null }],
    {},
  ],
  ...(['cancel_requested', 'time_ran_out'] as const).map((type): [string, LoopEvent[], object] => [
    `tool calls that were running at ${type}, beside one that returned and one that had no slot yet`,
    [
      woken(),
      loaded(),
      answered(start, ['a', 'b', 'c', 'd'], {
        calls: ['a', 'b', 'c', 'd'].map((callId) => ({ callId, isSequential: callId === 'd' })),
      }),
      returned('a', start),
      { type, at: start + 900, charge: null },
    ],
    { modelRequests: 1, toolExecutions: 3, toolFailures: 2 },
  ]),
  [
    'summaries: by the model, by extract after a failure, by extract without asking',
    [
      compacted({}),
      compacted({ problem: 'the model failed' }),
      compacted({ charge: null, problem: 'no budget' }),
    ],
    { compactions: 3, modelRequests: 2, modelFailures: 1 },
  ],
  [
    'a parked call that a person denied, counted once',
    [
      { type: 'parked', at: start, effectId: 1, kind: 'parked', hasMore: false },
      { type: 'parked', at: start, effectId: 1, kind: 'lost', hasMore: false },
      {
        type: 'resumed',
        decisions: [
          { callId: 'a', decision: 'denied', by: 'mira', note: '' },
          { callId: 'b', decision: 'expired', by: null, note: '' },
          { callId: 'c', decision: 'approved', by: 'mira', note: '' },
        ],
      } as unknown as LoopEvent,
      returned('a', start, denied),
    ],
    { parks: 1, permissionDenials: 2 },
  ],
])('L44: counters of %s', (_what, events, expected) => {
  expect(countEvents(toRunLog(events, null).events)).toEqual({ ...nothing, ...expected })
})
