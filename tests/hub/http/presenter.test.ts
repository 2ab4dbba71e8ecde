import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { presenterOf, presentTime, timeAnswer } from '../../../src/hub/http/answers'

interface Row {
  id: string
  hopLimit: number | null
  isRead: boolean
  createdAt: number
  readAt: number | null
  tags: string[]
  /** Not in the answer. */
  secret: string
}

const row: Row = {
  id: 'a',
  hopLimit: null,
  isRead: false,
  createdAt: 1_700_000_000_123,
  readAt: null,
  tags: ['x'],
  secret: 's',
}

const answer = z.object({
  read_at: timeAnswer.nullable().describe('When it was read.'),
  id: z.string(),
  hop_limit: z.int().nullable(),
  tags: z.array(z.string()),
  is_read: z.boolean(),
  created_at: timeAnswer,
})

describe('an answer is made of a row by its schema', () => {
  const present = presenterOf(answer).from<Row>({})

  test('a field is the column of its name, a time is in ISO 8601, and no other column is shown', () => {
    expect(present(row)).toEqual({
      read_at: null,
      id: 'a',
      hop_limit: null,
      tags: ['x'],
      is_read: false,
      created_at: '2023-11-14T22:13:20.123Z',
    })
    expect(present({ ...row, readAt: 0 }).read_at).toBe('1970-01-01T00:00:00.000Z')
  })

  test('the fields are in the order of the schema, whichever are computed', () => {
    const computed = presenterOf(answer).from<Row>({ id: ({ secret }) => secret.length.toString() })
    expect(Object.keys(computed(row))).toEqual(Object.keys(answer.shape))
    expect(computed(row).id).toBe('1')
  })

  test('answers of two rows share nothing', () => {
    const [first, second] = [row, { ...row, id: 'b' }].map((each) => present(each))
    expect([first?.id, second?.id]).toEqual(['a', 'b'])
  })
})

test('a field without a column, or with a column of another type, does not compile', () => {
  const withScore = presenterOf(answer.extend({ score: z.int() }))
  // @ts-expect-error: no column
  withScore.from<Row>({})
  // @ts-expect-error: a text is no number
  withScore.from<Row & { score: string }>({})
  // @ts-expect-error: a column that can be null, for a field that cannot
  withScore.from<Row & { score: number | null }>({})
  // @ts-expect-error: a column that can be missing
  withScore.from<Row & { score?: number }>({})
  // @ts-expect-error: a time that is a text already
  withScore.from<Omit<Row, 'createdAt'> & { createdAt: string; score: number }>({})
  // @ts-expect-error: computed, but as a text
  withScore.from<Row>({ score: ({ id }) => id })
  // @ts-expect-error: no such field
  withScore.from<Row & { score: number }>({ points: () => 1 })
  expect(withScore.from<Row & { score: number }>({})({ ...row, score: 3 }).score).toBe(3)
  expect(withScore.from<Row>({ score: ({ tags }) => tags.length })(row).score).toBe(1)
})

test('a time is formatted as the platform does it', () => {
  const yearMs = 365 * 86_400_000
  const times = fc.oneof(
    fc.integer({ min: -100 * yearMs, max: 100 * yearMs }),
    fc.integer({ min: -8.64e15, max: 8.64e15 }),
    fc.integer({ min: -10_000, max: 30_000 }).map((day) => day * 86_400_000),
    fc.integer({ min: -10_000, max: 30_000 }).map((day) => day * 86_400_000 - 1),
  )
  fc.assert(
    fc.property(times, (at) => {
      expect(presentTime(at)).toBe(new Date(at).toISOString())
    }),
    { numRuns: 2_000 },
  )
  expect(presentTime(null)).toBeNull()
})
