import { expect, test } from 'vitest'
import type { Judgement } from '../../../src/hub/contract/hub'
import { combineJudgements, readJudgement } from '../../../src/hub/trials/verdicts'

const says = (judgement: Judgement) => ({ says: judgement, reason: `It says ${judgement}.` })

test.each<[Judgement, Judgement, string]>([
  ['first', 'second', 'worse'],
  ['second', 'first', 'better'],
  ['same', 'same', 'same'],
  // the same place in either order
  ['first', 'first', 'cannot_tell'],
  ['second', 'second', 'cannot_tell'],
  ['first', 'same', 'cannot_tell'],
  ['same', 'second', 'cannot_tell'],
  ['same', 'first', 'cannot_tell'],
  ['second', 'same', 'cannot_tell'],
  ['cannot_tell', 'cannot_tell', 'cannot_tell'],
  ['cannot_tell', 'first', 'cannot_tell'],
  ['second', 'cannot_tell', 'cannot_tell'],
  ['cannot_tell', 'same', 'cannot_tell'],
])(
  'P6: %s with the active answer first and %s with the draft first is %s',
  (one, other, verdict) => {
    expect(combineJudgements(says(one), says(other)).verdict).toBe(verdict)
  },
)

test('P6: exchanging which answer is the draft exchanges better and worse', () => {
  const all: Judgement[] = ['first', 'second', 'same', 'cannot_tell']
  const opposite = { better: 'worse', worse: 'better', same: 'same', cannot_tell: 'cannot_tell' }
  for (const one of all) {
    for (const other of all) {
      const { verdict } = combineJudgements(says(one), says(other))
      expect(combineJudgements(says(other), says(one)).verdict).toBe(opposite[verdict])
    }
  }
})

test('P6: the reason is that of the judge, or what stands against its words', () => {
  expect(combineJudgements(says('second'), says('first')).reason).toBe('It says second.')
  expect(combineJudgements(says('first'), says('cannot_tell')).reason).toBe('It says cannot_tell.')
  expect(combineJudgements(says('first'), says('first')).reason).toContain('either order')
  expect(combineJudgements(says('first'), says('same')).reason).toContain('exchanged')
})

test.each([
  '',
  'first',
  '{}',
  'null',
  '{"says":"both","reason":""}',
  '{"says":"first"}',
  '["first"]',
])('P6: a stored answer %j is no judgement', (answer) => {
  expect(readJudgement(answer).says).toBe('cannot_tell')
})

test('P6: a stored judgement is read as it was written', () => {
  const stored = { says: 'second', reason: 'It cites the decision.' }
  expect(readJudgement(JSON.stringify(stored))).toEqual(stored)
})
