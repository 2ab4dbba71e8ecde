import * as z from 'zod'
import { budgetLimits } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import { describeZone, isTimezone } from '../../shared/local-time'
import { type ColumnOf, toColumnName } from '../http/answers'
import { budgetScopes, type budgets } from '../schema/budgets'

/** Far above any bill, and exact as a JSON number. */
export const limitMax = 1_000_000_000_000_000
const limit = z.number().int().min(0).max(limitMax).nullable().optional()
const share = z.number().min(0).max(1).optional()

/** The fields of a budget that can be updated: null removes a limit, absent fields stay. */
const changeable = {
  limit_microusd: limit,
  limit_tokens: limit,
  warning_share: share.describe('share of the limit at which agents are warned'),
  throttle_share: share.describe('share of the limit at which exploration pauses'),
  critical_share: share.describe('share of the limit at which tasks are refused'),
  allows_critical: z
    .boolean()
    .optional()
    .describe('whether tasks of critical priority can spend beyond critical_share'),
}

export const budgetChange = knownFields(changeable).refine(
  (change) => Object.keys(change).length > 0,
  'Set at least one field',
)
export type BudgetChange = z.output<typeof budgetChange>

type Setting = keyof typeof changeable

/** Names of the fields that can be updated. Each is kept in the column of its name. */
export const settings = Object.keys(changeable) as Setting[]

/** Returns the columns of the fields that are given. */
export const toColumns = (
  given: BudgetChange,
): Partial<Pick<typeof budgets.$inferSelect, ColumnOf<Setting>>> =>
  Object.fromEntries(
    settings.flatMap((each) =>
      given[each] === undefined ? [] : [[toColumnName(each), given[each]]],
    ),
  )

/** Normalizes `provider` or `provider/model`: the provider in lower case, the model as given. */
export function normalizeScopeId(name: string): string {
  const [provider = '', ...model] = name.split('/')
  return [
    provider.trim().toLowerCase(),
    ...(model.length > 0 ? [model.join('/').trim()] : []),
  ].join('/')
}

export const budgetInput = knownFields({
  scope: z
    .enum(budgetScopes)
    .describe(
      'role:member and role:guest limit each account with that role; a budget of scope requester replaces them for its account',
    ),
  name: z
    .string()
    .trim()
    .min(1)
    .max(budgetLimits.scopeIdCharsMax)
    .optional()
    .describe(
      'name of the agent, community or requester, provider, or provider/model; none for the hub, for all guests together, for replays and for roles',
    ),
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
    .refine(isTimezone, { error: ({ input }) => describeZone(String(input)) })
    .default('UTC'),
  ...changeable,
}).superRefine((input, check) => {
  for (const [path, message] of findMismatches(input)) {
    check.addIssue({ code: 'custom', path: [path], message })
  }
})
export type BudgetInput = z.output<typeof budgetInput>

const namedScopes: readonly string[] = ['agent', 'provider', 'model', 'community', 'requester']

/** Returns path and message of each field that doesn't fit the others. */
function findMismatches(input: {
  scope: (typeof budgetScopes)[number]
  name?: string | undefined
  period: 'day' | 'week' | 'month'
  reset_day: number
}): [string, string][] {
  const { scope, name, period, reset_day: day } = input
  const isNameless = !namedScopes.includes(scope)
  const hasForm = (pattern: RegExp) => name === undefined || pattern.test(normalizeScopeId(name))
  const rules: [boolean, string, string][] = [
    [
      isNameless && name !== undefined,
      'name',
      'Omit the name for the hub, guests, replays and roles',
    ],
    [
      !isNameless && name === undefined,
      'name',
      'Required: name the agent, community, requester, provider or model',
    ],
    [scope === 'model' && !hasForm(/^[^\s/]+\/\S+$/), 'name', 'Must be provider/model'],
    [scope === 'provider' && !hasForm(/^[^\s/]+$/), 'name', 'Must be a provider without a model'],
    [period === 'week' && day > 7, 'reset_day', 'Must be 1 to 7 for a week'],
    [period === 'day' && day !== 1, 'reset_day', 'Must be 1 for a day'],
  ]
  return rules.flatMap(([isBroken, path, message]) => (isBroken ? [[path, message]] : []))
}
