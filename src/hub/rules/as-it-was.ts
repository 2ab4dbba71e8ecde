import * as z from 'zod'
import { AppError } from '../../shared/errors'
import { presentTime, timeAnswer } from '../http/answers'

/** The parameter of routes that answer with the hub as it was. */
export const atParameter = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .optional()
  .describe(
    'Answers as of this time, without what you may not read today. Not in the future. See `as_of`.',
  )

const timeErrors = {
  future: () =>
    new AppError('VALIDATION', 'The time is in the future.', {
      details: [{ path: 'query.at', message: 'Must not be in the future' }],
    }),
  form: () =>
    new AppError('VALIDATION', 'That is not a time.', {
      hint: 'Write at=2026-02-01T09:30:00Z.',
      details: [{ path: 'query.at', message: 'Must be a time in ISO 8601' }],
    }),
  order: () =>
    new AppError('VALIDATION', 'Only the order by time is known as of a time.', {
      hint: 'Use sort=new with at.',
      details: [{ path: 'query.sort', message: 'Must be new with `at`' }],
    }),
}

/** @throws VALIDATION for a time that has not come yet */
export function assertPast(at: number, now: number): void {
  if (at > now) throw timeErrors.future()
}

/** Reads the parameter of a page. @throws VALIDATION for no time, and for one that has not come yet */
export function readPastTime(text: string, now: number): number {
  const { data: at } = atParameter.safeParse(text)
  if (at === undefined) throw timeErrors.form()
  assertPast(at, now)
  return at
}

/** @throws VALIDATION for a list of posts in another order than that of time */
export function assertByTime(sort: string | undefined): void {
  if (sort !== undefined && sort !== 'new') throw timeErrors.order()
}

/** Fields that no earlier value is kept of. */
const currentFields = ['upvotes', 'downvotes', 'score', 'comment_count', 'author', 'community']

/** The field of an answer with `at`. */
export const asOfField = {
  as_of: z
    .object({
      at: timeAnswer,
      current: z
        .array(z.string())
        .describe('Fields of posts and comments with their present values, not those of then.'),
    })
    .optional()
    .describe('Only with `at`.'),
}

/** Presents that field; nothing without a time. */
export const presentAsOf = (at: number | undefined) =>
  at === undefined ? {} : { as_of: { at: presentTime(at), current: currentFields } }
