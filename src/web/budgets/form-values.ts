import type * as z from 'zod'
import { nameHints, resetDayHints } from '../../hub/budgets/budget-labels'
import {
  type BudgetChange,
  type BudgetInput,
  budgetChange,
  budgetInput,
} from '../../hub/budgets/inputs'
import {
  defaultThresholds,
  type Threshold,
  type Thresholds,
  thresholds,
} from '../../hub/budgets/levels'
import type { PageBudget } from '../../hub/budgets/page-queries'
import {
  formatDollars,
  formatPercent,
  formatTokens,
  parseDollars,
  parsePercent,
  parseResetDay,
  parseTokens,
} from './form-amounts'

const toPercentField = (threshold: Threshold) => `${threshold}_percent` as const
type PercentField = ReturnType<typeof toPercentField>
const percentFields = thresholds.map(toPercentField)

/** Returns a record with the field of each threshold. */
const fromThresholds = <Value>(toValue: (threshold: Threshold) => Value) =>
  Object.fromEntries(thresholds.map((each) => [toPercentField(each), toValue(each)])) as Record<
    PercentField,
    Value
  >

const formatPercents = (shares: Thresholds): Record<PercentField, string> =>
  fromThresholds((each) => formatPercent(shares[`${each}Share`]))

/** Field names in the order of the form. */
export const budgetFields = [
  'scope',
  'name',
  'period',
  'limit_dollars',
  'limit_tokens',
  'reset_day',
  'timezone',
  ...percentFields,
  'allows_critical',
] as const
export type BudgetField = (typeof budgetFields)[number]

/** The values of the budget form. */
export type BudgetFormValues = Record<BudgetField, string>
/** Error messages by field. */
export type FieldErrors = Partial<Record<BudgetField, string>>

/** The form values of a new budget. */
export const newBudgetValues: BudgetFormValues = {
  scope: 'agent',
  name: '',
  period: 'month',
  limit_dollars: '',
  limit_tokens: '',
  reset_day: '1',
  timezone: 'UTC',
  ...formatPercents(defaultThresholds),
  allows_critical: '',
}

/** Returns the form values of an existing budget. */
export const toFormValues = (budget: PageBudget): BudgetFormValues => ({
  scope: budget.scope,
  name: budget.name ?? budget.community ?? budget.scopeId,
  period: budget.period,
  reset_day: String(budget.resetDay),
  timezone: budget.timezone,
  limit_dollars: formatDollars(budget.limitMicrousd),
  limit_tokens: formatTokens(budget.limitTokens),
  ...formatPercents(budget),
  allows_critical: budget.allowsCritical ? 'on' : '',
})

type Parsed<Body> = { body: Body; problems: null } | { body: null; problems: FieldErrors }

export const parseNewBudget = (typed: BudgetFormValues): Parsed<BudgetInput> =>
  parseFields(typed, budgetInput, {
    scope: typed.scope,
    name: parseName(typed),
    period: typed.period,
    reset_day: parseResetDay(typed.reset_day) ?? 1,
    timezone: typed.timezone.trim() || 'UTC',
    ...parseChangeable(typed),
  })

export const parseBudgetChange = (typed: BudgetFormValues): Parsed<BudgetChange> =>
  parseFields(typed, budgetChange, parseChangeable(typed))

/** Returns the name without the `@` or `m/` that pages show before it. */
const parseName = ({ scope, name }: BudgetFormValues): string | undefined => {
  const prefix = scope === 'agent' ? /^@/ : scope === 'community' ? /^m\// : /^$/
  return name.trim().replace(prefix, '') || undefined
}

/** Parses a threshold; an empty one gets its default, as does an invalid one, which its parser reports. */
const parseShare = (typed: BudgetFormValues, threshold: Threshold): number =>
  parsePercent(typed[toPercentField(threshold)]) ?? defaultThresholds[`${threshold}Share`]

/** Parses limits and thresholds; an empty threshold gets its default. */
const parseChangeable = (typed: BudgetFormValues): object => ({
  limit_microusd: parseDollars(typed.limit_dollars),
  limit_tokens: parseTokens(typed.limit_tokens),
  ...Object.fromEntries(thresholds.map((each) => [`${each}_share`, parseShare(typed, each)])),
  allows_critical: typed.allows_critical === 'on',
})

/** Parses the form values, or returns the errors of all invalid fields. */
function parseFields<Body>(
  typed: BudgetFormValues,
  schema: z.ZodType<Body>,
  raw: object,
): Parsed<Body> {
  const parsed = schema.safeParse(raw)
  const invalid = new Set(parsed.success ? [] : listInvalidFields(parsed.error))
  for (const [field, parse] of Object.entries(parsers)) {
    if (parse(typed[field as BudgetField]) === undefined) invalid.add(field as BudgetField)
  }
  const problems: FieldErrors = { ...checkThresholdOrder(typed) }
  for (const field of invalid) problems[field] = formatFieldError(field, typed)
  if (parsed.success && Object.keys(problems).length === 0) {
    return { body: parsed.data, problems: null }
  }
  return { body: null, problems }
}

const parsers = {
  limit_dollars: parseDollars,
  limit_tokens: parseTokens,
  ...fromThresholds(() => parsePercent),
  reset_day: parseResetDay,
}

/** Form fields by the API fields that they hold in other units. */
const fieldsByApiName: Record<string, BudgetField> = {
  limit_microusd: 'limit_dollars',
  ...Object.fromEntries(thresholds.map((each) => [`${each}_share`, toPercentField(each)])),
}

const listInvalidFields = (error: z.ZodError): BudgetField[] =>
  error.issues.map(({ path }) => {
    const name = String(path[0])
    return fieldsByApiName[name] ?? (name as BudgetField)
  })

function checkThresholdOrder(typed: BudgetFormValues): FieldErrors {
  const problems: FieldErrors = {}
  for (const [at, threshold] of thresholds.entries()) {
    const previous = thresholds[at - 1]
    if (previous && parseShare(typed, previous) > parseShare(typed, threshold)) {
      problems[toPercentField(threshold)] =
        `The ${threshold} threshold must not be below the ${previous} threshold.`
    }
  }
  return problems
}

const percentHint = 'Enter a percentage from 0 to 100.'

/** Returns the error message of an invalid field; name and reset day depend on other fields. */
export function formatFieldError(field: BudgetField, typed: BudgetFormValues): string {
  const messages: Partial<Record<BudgetField, string | undefined>> = {
    name: nameHints[typed.scope],
    reset_day: resetDayHints[typed.period],
    timezone: 'Enter a time zone such as Europe/Berlin.',
    limit_dollars: 'Enter an amount in dollars such as 25 or 12.50.',
    limit_tokens: 'Enter a number of tokens such as 2,000,000.',
    ...fromThresholds(() => percentHint),
  }
  return messages[field] ?? 'Choose an option from the list.'
}
