import type * as z from 'zod'
import { nameHints, resetDayHints } from './budget-labels'
import { type BudgetChange, type BudgetInput, budgetChange, budgetInput } from './inputs'
import type { PageBudget } from './page-queries'
import { usualThresholds } from './queries'
import {
  readLimit,
  readResetDay,
  readShare,
  readTokens,
  writeLimit,
  writeShare,
  writeTokens,
} from './typed-amounts'

/** Field names in the order of the form. */
export const budgetFields = [
  'scope',
  'name',
  'period',
  'limit_dollars',
  'limit_tokens',
  'reset_day',
  'timezone',
  'warning_percent',
  'throttle_percent',
  'critical_percent',
  'allows_critical',
] as const
export type BudgetField = (typeof budgetFields)[number]

/** The values of the budget form. */
export type TypedBudget = Record<BudgetField, string>
/** Error messages by field. */
export type FieldProblems = Partial<Record<BudgetField, string>>

const { warningShare, throttleShare, criticalShare } = usualThresholds

/** The form values of a new budget. */
export const freshBudget: TypedBudget = {
  scope: 'agent',
  name: '',
  period: 'month',
  limit_dollars: '',
  limit_tokens: '',
  reset_day: '1',
  timezone: 'UTC',
  warning_percent: writeShare(warningShare),
  throttle_percent: writeShare(throttleShare),
  critical_percent: writeShare(criticalShare),
  allows_critical: '',
}

/** Returns the form values of an existing budget. */
export const typeBudget = (budget: PageBudget): TypedBudget => ({
  scope: budget.scope,
  name: budget.name ?? budget.community ?? budget.scopeId,
  period: budget.period,
  reset_day: String(budget.resetDay),
  timezone: budget.timezone,
  limit_dollars: writeLimit(budget.limitMicrousd),
  limit_tokens: writeTokens(budget.limitTokens),
  warning_percent: writeShare(budget.warningShare),
  throttle_percent: writeShare(budget.throttleShare),
  critical_percent: writeShare(budget.criticalShare),
  allows_critical: budget.allowsCritical === 1 ? 'on' : '',
})

type Parsed<Body> = { body: Body; problems: null } | { body: null; problems: FieldProblems }

export const readNewBudget = (typed: TypedBudget): Parsed<BudgetInput> =>
  parseFields(typed, budgetInput, {
    scope: typed.scope,
    name: parseName(typed),
    period: typed.period,
    reset_day: readResetDay(typed.reset_day) ?? 1,
    timezone: typed.timezone.trim() || 'UTC',
    ...parseChangeable(typed),
  })

export const readBudgetChange = (typed: TypedBudget): Parsed<BudgetChange> =>
  parseFields(typed, budgetChange, parseChangeable(typed))

/** Returns the name without the `@` or `m/` that pages show before it. */
const parseName = ({ scope, name }: TypedBudget): string | undefined => {
  const prefix = scope === 'agent' ? /^@/ : scope === 'community' ? /^m\// : /^$/
  return name.trim().replace(prefix, '') || undefined
}

/** Parses limits and thresholds; an empty threshold gets its default. */
const parseChangeable = (typed: TypedBudget): object => ({
  limit_microusd: readLimit(typed.limit_dollars),
  limit_tokens: readTokens(typed.limit_tokens),
  warning_share: readShare(typed.warning_percent) ?? warningShare,
  throttle_share: readShare(typed.throttle_percent) ?? throttleShare,
  critical_share: readShare(typed.critical_percent) ?? criticalShare,
  allows_critical: typed.allows_critical === 'on',
})

/** Parses the form values, or returns the errors of all invalid fields. */
function parseFields<Body>(typed: TypedBudget, schema: z.ZodType<Body>, raw: object): Parsed<Body> {
  const parsed = schema.safeParse(raw)
  const invalid = new Set(parsed.success ? [] : listInvalidFields(parsed.error))
  for (const [field, parse] of Object.entries(parsers)) {
    if (parse(typed[field as BudgetField]) === undefined) invalid.add(field as BudgetField)
  }
  const problems: FieldProblems = { ...checkThresholdOrder(typed) }
  for (const field of invalid) problems[field] = sayWrong(field, typed)
  if (parsed.success && Object.keys(problems).length === 0) {
    return { body: parsed.data, problems: null }
  }
  return { body: null, problems }
}

const parsers = {
  limit_dollars: readLimit,
  limit_tokens: readTokens,
  warning_percent: readShare,
  throttle_percent: readShare,
  critical_percent: readShare,
  reset_day: readResetDay,
}

/** Form fields by the API fields that they hold in other units. */
const fieldsByApiName: Record<string, BudgetField> = {
  limit_microusd: 'limit_dollars',
  warning_share: 'warning_percent',
  throttle_share: 'throttle_percent',
  critical_share: 'critical_percent',
}

const listInvalidFields = (error: z.ZodError): BudgetField[] =>
  error.issues.map(({ path }) => {
    const name = String(path[0])
    return fieldsByApiName[name] ?? (name as BudgetField)
  })

function checkThresholdOrder(typed: TypedBudget): FieldProblems {
  const warning = readShare(typed.warning_percent) ?? warningShare
  const throttle = readShare(typed.throttle_percent) ?? throttleShare
  const critical = readShare(typed.critical_percent) ?? criticalShare
  return {
    ...(warning > throttle && {
      throttle_percent: 'The throttle threshold must not be below the warning threshold.',
    }),
    ...(throttle > critical && {
      critical_percent: 'The critical threshold must not be below the throttle threshold.',
    }),
  }
}

const percentHint = 'Enter a percentage from 0 to 100.'

/** Returns the error message of an invalid field; name and reset day depend on other fields. */
export function sayWrong(field: BudgetField, typed: TypedBudget): string {
  const messages: Partial<Record<BudgetField, string | undefined>> = {
    name: nameHints[typed.scope],
    reset_day: resetDayHints[typed.period],
    timezone: 'Enter a time zone such as Europe/Berlin.',
    limit_dollars: 'Enter an amount in dollars such as 25 or 12.50.',
    limit_tokens: 'Enter a number of tokens such as 2,000,000.',
    warning_percent: percentHint,
    throttle_percent: percentHint,
    critical_percent: percentHint,
  }
  return messages[field] ?? 'Choose an option from the list.'
}
