import * as z from 'zod'
import type { ArgumentRule } from '../contract/hub'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import type { ComposedRule } from './compose-rule'
import type { RuleStates } from './read-rules'

const argumentAnswer = z.object({
  name: z.string(),
  equals: z.string().nullable().describe('The exact value, as JSON.'),
  begins_with: z.string().nullable(),
})

const presentArgument = (rule: ArgumentRule): z.input<typeof argumentAnswer> => ({
  name: rule.name,
  equals: rule.kind === 'exact' ? JSON.stringify(rule.value) : null,
  begins_with: rule.kind === 'prefix' ? rule.prefix : null,
})

/** The names alone, for whoever may not see the values. */
const presentName = ({ name }: ArgumentRule): z.input<typeof argumentAnswer> => ({
  name,
  equals: null,
  begins_with: null,
})

/** What a rule covers. */
export const ruleScopeAnswer = z.object({
  arguments: z.array(argumentAnswer).describe('There must be no further argument.'),
  is_anywhere: z.boolean().describe('In any community, and outside of communities.'),
  community: z.string().nullable().describe('Null: outside of communities, unless anywhere.'),
  requester: z.string().nullable().describe('Null: whoever requests.'),
  ends_at: timeAnswer,
})

export const presentScope = (rule: ComposedRule): z.input<typeof ruleScopeAnswer> => ({
  arguments: rule.arguments.map(presentArgument),
  is_anywhere: rule.isAnywhere,
  community: rule.community?.communityName ?? null,
  requester: rule.requester?.name ?? null,
  ends_at: presentTime(rule.endsAt),
})

export const ruleAnswer = ruleScopeAnswer
  .extend({
    id: z.string(),
    agent: z.string(),
    tool: z.string(),
    grant: z.string(),
    tier: z.enum(['read', 'write', 'destructive']),
    is_redacted: z
      .boolean()
      .describe('The values are left out: its call was of a run that you have not opened.'),
    created_by: z.string(),
    created_at: timeAnswer,
    state: z
      .enum(['active', 'expired', 'revoked', 'creator', 'tool_changed'])
      .describe(
        'creator: whoever created it can no longer approve. tool_changed: the definition of the tool is another one.',
      ),
    uses: countAnswer.describe('Calls of runs count when the run ends.'),
    last_used_at: timeAnswer.nullable(),
  })
  .meta({ id: 'StandingRule' })

const presentRow = presenterOf(ruleAnswer).from<
  RuleStates[number]['row'] & Pick<RuleStates[number], 'state'>
>({
  agent: (row) => row.agentName,
  arguments: (row) => row.arguments.map(row.isHidden ? presentName : presentArgument),
  is_redacted: (row) => row.isHidden,
  created_by: (row) => row.by,
})

export const presentRule = ({ row, state }: RuleStates[number]): z.input<typeof ruleAnswer> =>
  presentRow({ ...row, state })
