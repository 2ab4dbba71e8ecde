import * as z from 'zod'
import { runLists } from '../../shared/config'
import { outcomes } from '../../shared/errors'
import { timeRange } from '../audit/filter'

const name = z
  .string()
  .trim()
  .max(100)
  .transform((text) => text.replace(/^@/, ''))

/** Filters for runs that nobody asked for, where an account is named else. */
export const nobody = '-'

const common = {
  agent: name.optional().describe('name of an agent'),
  outcome: z.enum([...outcomes, 'running', 'parked']).optional(),
  requester: name
    .optional()
    .describe(
      `name of an account that asked for the run, or ${nobody} for runs that nobody asked for`,
    ),
  text: z
    .string()
    .trim()
    .max(runLists.textCharsMax)
    .optional()
    .describe("part of the post's title, or of a task whose trace you see"),
  tokens_from: z.coerce.number().int().min(0).optional().describe('at least this many tokens'),
  ...timeRange,
}

/** Filters of the list of runs in the API. */
export const runFilterQuery = z.object({
  ...common,
  cost_microusd_from: z.coerce.number().int().min(0).optional().describe('at least this cost'),
})

/** The same in the form of the page, where people write dollars. */
export const runFilterForm = z
  .object({
    ...common,
    cost_from: z
      .string()
      .trim()
      .regex(/^\d{1,9}(\.\d{1,6})?$/, 'Must be an amount in dollars such as 0.05')
      .optional(),
  })
  .transform(({ cost_from: dollars, ...filter }) => ({
    ...filter,
    cost_microusd_from: dollars === undefined ? undefined : Math.round(Number(dollars) * 1_000_000),
  }))

/** A filter of the list of runs; fields that are not set match every run. */
export type RunFilter = Partial<z.output<typeof runFilterQuery>>
