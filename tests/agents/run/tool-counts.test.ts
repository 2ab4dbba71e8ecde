import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { countTools } from '../../../src/agents/run/counters'
import { toRunLog } from '../../../src/agents/run/run-log'
import type { AuditEntry } from '../../../src/hub/contract/hub'
import { answered, auditOf, returned, start, woken } from './events'

const count = (...events: LoopEvent[]) => countTools(toRunLog([woken(), ...events], null).events)
const wrong = (decision: AuditEntry['decision']) => ({
  audit: auditOf('', { decision }),
  isError: true,
})

test('L44: the totals of a tool include its denied, invalid and refused calls as errors', () => {
  const [total] = count(
    answered(start, ['a', 'b', 'c', 'd']),
    returned('a', start),
    returned('b', start, wrong('denied')),
    returned('c', start, wrong('invalid')),
    returned('d', start, wrong('rate_limited')),
    answered(start, ['e', 'f'], {}, 'length'),
  )
  expect(total).toMatchObject({ calls: 6, errors: 5 })
})

test('L44: a call that a person denied counts once, and one that a cancelled run did not get to never', () => {
  const resumed = (isCancelled: boolean) =>
    ({
      type: 'resumed',
      at: start,
      admission: 'granted',
      isCancelled,
      decisions: [{ callId: 'a', decision: 'denied', by: 'mira', note: '' }],
    }) as unknown as LoopEvent
  for (const isCancelled of [false, true]) {
    const counts = count(answered(start, ['a', 'b']), resumed(isCancelled))
    expect(counts).toMatchObject([{ calls: 1, errors: 1 }])
  }
})

test('L44: a call whose outcome a crash lost counts as an error', () => {
  const lost: LoopEvent = { type: 'interrupted', at: start, unknownCallIds: ['a'], charge: null }
  expect(count(answered(start, ['a']), lost)).toMatchObject([{ calls: 1, errors: 1, totalMs: 0 }])
})
