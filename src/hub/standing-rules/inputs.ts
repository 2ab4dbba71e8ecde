import * as z from 'zod'
import { standingRules } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'

/** What a new standing rule covers besides the very call that it is made from. */
export const ruleInput = knownFields({
  prefixes: z
    .record(z.string().max(200), z.string().max(2_000))
    .default({})
    .describe(
      'By name of a text argument, the beginning that is enough. Every other argument has to be as in this call, and there must be no further one.',
    ),
  any_community: z
    .boolean()
    .default(false)
    .describe('Not only in the community of the thread of this call, or outside of communities.'),
  any_requester: z.boolean().default(false).describe('Not only when the same account requests.'),
  days: z.number().int().min(1).max(standingRules.daysMax).default(standingRules.daysDefault),
})

export type RuleInput = z.output<typeof ruleInput>
