import * as z from 'zod'
import { budgetLimits } from '../../config'

/** Far beyond any bill, and exact as a number of JSON. */
export const limitMax = 1_000_000_000_000_000
const limit = z.number().int().min(0).max(limitMax).nullable().optional()
const share = z.number().min(0).max(1).optional()

/** What may be changed of a budget: null lifts a limit, what is absent stays. */
const changeable = {
  limit_microusd: limit,
  limit_tokens: limit,
  warning_share: share.describe('share of the limit from which on it warns'),
  throttle_share: share.describe('from which on nobody looks around on it'),
  critical_share: share.describe('from which on tasks are refused'),
  allows_critical: z
    .boolean()
    .optional()
    .describe('whether tasks of critical priority may use what is beyond critical_share'),
}

export const budgetChange = z
  .strictObject(changeable)
  .refine((change) => Object.keys(change).length > 0, 'names nothing to change')
export type BudgetChange = z.output<typeof budgetChange>

const isTimezone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** Providers are written small, models as their provider writes them. */
export function readScopeId(name: string): string {
  const [provider = '', ...model] = name.split('/')
  return [
    provider.trim().toLowerCase(),
    ...(model.length > 0 ? [model.join('/').trim()] : []),
  ].join('/')
}

const scopes = ['hub', 'agent', 'executor', 'model', 'community'] as const

export const budgetInput = z
  .strictObject({
    scope: z.enum(scopes),
    name: z
      .string()
      .trim()
      .min(1)
      .max(budgetLimits.scopeIdCharsMax)
      .optional()
      .describe('of the agent, the community, the executor or provider, or provider/model'),
    period: z.enum(['day', 'week', 'month']),
    reset_day: z
      .number()
      .int()
      .min(1)
      .max(28)
      .default(1)
      .describe('week: 1 (Monday) to 7; month: 1 to 28'),
    timezone: z
      .string()
      .max(60)
      .refine(isTimezone, 'is no time zone such as Europe/Berlin')
      .default('UTC'),
    ...changeable,
  })
  .superRefine((input, check) => {
    for (const [path, message] of findMismatches(input)) {
      check.addIssue({ code: 'custom', path: [path], message })
    }
  })
export type BudgetInput = z.output<typeof budgetInput>

/** Fields that do not fit together. */
function findMismatches(input: {
  scope: (typeof scopes)[number]
  name?: string | undefined
  period: 'day' | 'week' | 'month'
  reset_day: number
}): [string, string][] {
  const { scope, name, period, reset_day: day } = input
  const isNamed = (pattern: RegExp) => name === undefined || pattern.test(readScopeId(name))
  const rules: [boolean, string, string][] = [
    [scope === 'hub' && name !== undefined, 'name', 'the hub has none'],
    [scope !== 'hub' && name === undefined, 'name', 'is missing: says whose budget it is'],
    [scope === 'model' && !isNamed(/^[^\s/]+\/\S+$/), 'name', 'is no provider/model'],
    [scope === 'executor' && !isNamed(/^[^\s/]+$/), 'name', 'is a provider, without a model'],
    [period === 'week' && day > 7, 'reset_day', 'a week has 7 days'],
    [period === 'day' && day !== 1, 'reset_day', 'a day has none'],
  ]
  return rules.flatMap(([isBroken, path, message]) => (isBroken ? [[path, message]] : []))
}
