import { expect, test } from 'vitest'
import { redactRunLog } from '../../../src/agents/run/redact'
import type { RunEvent, RunLog } from '../../../src/agents/run/run-event'
import { answered, ended, loaded, requested, returned, woken } from '../../support/run-log'

const secret = 'mira-wrote-this'
const closed = [{ callId: 'c', name: 'hub_search', text: secret, startedAt: null }]
const stopped = { at: 1, charge: null, stopped: null, closed }
const approval = {
  callId: 'c',
  tool: 'hub_vote',
  grant: 'hub:write',
  tier: 'write' as const,
  arguments: secret,
  argumentsHash: secret,
}

/** Events with private content in every field that has any. */
const events: RunEvent[] = [
  woken('run'),
  loaded({ session: secret, goal: secret, prompt: [{ role: 'system', text: secret }] }),
  answered({
    text: secret,
    reasoning: secret,
    calls: [{ ...requested('c', 'hub_search', secret), refusal: secret }],
  }),
  {
    type: 'model_failed',
    at: 1,
    startedAt: 1,
    code: 'server_error',
    message: 'The provider failed.',
    detail: secret,
    charge: null,
  },
  returned('c', {
    arguments: secret,
    text: secret,
    plan: { goal: secret, steps: [{ title: secret, status: 'pending' }] },
  }),
  { type: 'steered', at: 1, items: [{ author: 'mira', isModeration: false, text: secret }] },
  { type: 'tool_parked', at: 1, startedAt: 1, callId: 'c', name: 'hub_vote', approval, hooks: [] },
  {
    type: 'resumed',
    at: 1,
    admission: 'granted',
    isCancelled: false,
    closed,
    decisions: [{ callId: 'c', decision: 'denied', by: 'ada', note: secret }],
  },
  {
    type: 'compacted',
    at: 1,
    startedAt: 1,
    summary: secret,
    replaced: 1,
    tokensBefore: 2,
    tokens: 1,
    charge: null,
    problem: null,
  },
  { type: 'time_ran_out', ...stopped },
  { type: 'cancel_requested', ...stopped },
  { type: 'interrupted', at: 1, charge: null, isEnded: false, closed },
  ended({ closed }),
]

test.each(events.map((event) => [event.type, event] as const))(
  'L43: %s has no private content for a viewer without access, and keeps its place',
  (type, event) => {
    const log: RunLog = { events: [event] }
    expect(redactRunLog(log, 'all')).toEqual(log)
    for (const access of ['answer', 'none'] as const) {
      const redacted = redactRunLog(log, access)
      expect(JSON.stringify(redacted)).not.toContain(secret)
      expect(redacted.events).toMatchObject([{ type, at: event.at }])
    }
  },
)

test('L43: the answer stays for a viewer of the thread, and no answer that calls a tool', () => {
  const last = answered({ text: 'In the vault.', reasoning: secret })
  const textsOf = (list: RunEvent[], access: 'answer' | 'none') =>
    redactRunLog({ events: list }, access).events.map((event) =>
      event.type === 'model_answered' ? [event.text, event.reasoning] : null,
    )
  expect(textsOf([...events, last], 'answer').at(-1)).toEqual(['In the vault.', ''])
  expect(textsOf([...events, last], 'none').at(-1)).toEqual(['', ''])
  expect(textsOf(events.slice(0, 3), 'answer').at(-1)).toEqual(['', ''])
})
