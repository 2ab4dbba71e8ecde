import type { RunEvent } from '../../../src/agents/run/run-event'
import type { ActivationId } from '../../../src/shared/ids'
import { answered, ended, loaded, requested, returned, woken } from '../../support/run-log'

const inside = [
  'PROMPT',
  'THOUGHT',
  'HALFWAY',
  'ARGUMENT',
  'RESULT',
  'GOAL',
  'TITLE',
  'REMARK',
  'QUOTE',
]
/** Every word that is private in the log. */
export const words = [...inside, 'ANSWER']

const decision = { callId: 'c1', decision: 'approved', by: 'root', note: 'REMARK' } as const
const plan = { goal: 'GOAL', steps: [{ title: 'TITLE', status: 'pending' as const }] }
const tool = { startedAt: 1_020, name: 'memory_recall', arguments: '{"q":"ARGUMENT"}', grant: 'g' }
const approval = {
  callId: 'c1',
  tool: 'memory_recall',
  grant: 'g',
  tier: 'read' as const,
  arguments: '{"q":"ARGUMENT"}',
  argumentsHash: 'h',
}

/** A log with private content in every place where there can be any. */
export const privateEvents = (id: ActivationId, isOver: boolean): RunEvent[] => [
  woken(id),
  { type: 'load_waited', at: 1_000, retryAt: 1_000, reason: 'capacity' },
  loaded({
    task: 'manual',
    session: 'dm_ada',
    prompt: [{ role: 'user', text: 'PROMPT' }],
  }),
  answered({
    text: 'HALFWAY',
    reasoning: 'THOUGHT',
    calls: [
      requested('c1', 'memory_recall', '{"q":"ARGUMENT"}'),
      requested('p', 'memory_update_plan'),
    ],
  }),
  { type: 'tool_parked', at: 1_030, ...tool, callId: 'c1', approval, hooks: [] },
  { type: 'parked', at: 1_031, isLost: false },
  {
    type: 'resumed',
    at: 1_040,
    admission: 'granted',
    decisions: [decision],
    isCancelled: false,
    closed: [],
  },
  returned('c1', { ...tool, at: 1_050, text: 'RESULT' }),
  returned('p', { name: 'memory_update_plan', plan }),
  {
    type: 'model_failed',
    at: 1_060,
    startedAt: 1_055,
    charge: null,
    code: 'PROVIDER_ERROR',
    message: 'It answered 400.',
    detail: 'QUOTE',
  },
  answered({ step: 2, startedAt: 1_100, text: 'ANSWER', reasoning: 'THOUGHT' }),
  {
    type: 'program_reported',
    at: 1_110,
    attempt: 1,
    text: '',
    reasoning: '',
    notes: [],
    changes: {
      branch: 'rookery/scout',
      pushed: null,
      since: null,
      stat: ' CHANGED.md | 1 +',
      patchChars: 30,
    },
  },
  ...(isOver ? [ended()] : []),
]
