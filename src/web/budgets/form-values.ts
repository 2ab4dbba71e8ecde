import { nameHints, resetDayHints } from '../../hub/budgets/budget-labels'
import {
  defaultThresholds,
  type Threshold,
  type Thresholds,
  thresholds,
} from '../../hub/budgets/levels'
import type { PageBudget } from '../../hub/budgets/page-queries'
import { formatDollars, parseDollars } from '../form/dollars'
import {
  type FieldErrors,
  type FormDefinition,
  type FormField,
  type FormState,
  isChecked,
  listFields,
  type Typed,
  toCheckboxText,
} from '../form/form-state'
import {
  formatPercent,
  formatTokens,
  parsePercent,
  parseResetDay,
  parseTokens,
} from './form-amounts'

const toPercentField = (threshold: Threshold) => `${threshold}_percent` as const
type PercentField = ReturnType<typeof toPercentField>

/** Returns a record with the field of each threshold. */
const fromThresholds = <Value>(toValue: (threshold: Threshold) => Value) =>
  Object.fromEntries(thresholds.map((each) => [toPercentField(each), toValue(each)])) as Record<
    PercentField,
    Value
  >

const formatPercents = (shares: Thresholds): Record<PercentField, string> =>
  fromThresholds((each) => formatPercent(shares[`${each}Share`]))

export type BudgetField =
  | 'scope'
  | 'name'
  | 'period'
  | 'limit_dollars'
  | 'limit_tokens'
  | 'reset_day'
  | 'timezone'
  | PercentField
  | 'allows_critical'

export type BudgetFormState = FormState<BudgetField>

/** The values of the budget form. */
type BudgetFormValues = Typed<BudgetField>

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
  allows_critical: toCheckboxText(budget.allowsCritical),
})

const chooseHint = 'Choose an option from the list.'
const percentHint = 'Enter a percentage from 0 to 100.'

/** The form of a new budget. */
export const newBudgetForm: FormDefinition<BudgetField> = {
  rejected: 'The budget was not saved.',
  fields: {
    scope: { message: chooseHint },
    name: {
      parse: (_text, typed) => parseName(typed),
      message: (_text, { scope }) => formatNameHint(scope),
    },
    period: { message: chooseHint },
    limit_dollars: {
      path: 'limit_microusd',
      parse: parseDollars,
      message: 'Enter an amount in dollars such as 25 or 12.50.',
    },
    limit_tokens: {
      parse: parseTokens,
      message: 'Enter a number of tokens such as 2,000,000.',
    },
    reset_day: {
      parse: (text) => parseResetDay(text) ?? undefined,
      message: (_text, { period }) => resetDayHints[period] ?? chooseHint,
    },
    timezone: {
      parse: (text) => text.trim() || undefined,
      message: 'Enter a time zone such as Europe/Berlin.',
    },
    ...fromThresholds((threshold) => ({
      path: `${threshold}_share`,
      // an empty threshold gets its default
      parse: (text: string) => parsePercent(text) ?? defaultThresholds[`${threshold}Share`],
      message: percentHint,
    })),
    allows_critical: { parse: isChecked },
  },
  check: checkThresholdOrder,
}

/** Field names in the order of the form. */
export const budgetFields = listFields(newBudgetForm)

const fixed: FormField<BudgetField> = { path: null }

/** The form of an existing budget, whose scope and period can't be changed. */
export const budgetChangeForm: FormDefinition<BudgetField> = {
  ...newBudgetForm,
  fields: {
    ...newBudgetForm.fields,
    scope: fixed,
    name: fixed,
    period: fixed,
    reset_day: fixed,
    timezone: fixed,
  },
}

/** Returns the error of an invalid name for a scope. */
export const formatNameHint = (scope: string): string => nameHints[scope] ?? chooseHint

/** Returns the name without the `@` or `m/` that pages show before it. */
function parseName({ scope, name }: BudgetFormValues): string | undefined {
  const prefix =
    scope === 'agent' || scope === 'requester' ? /^@/ : scope === 'community' ? /^m\// : /^$/
  return name.trim().replace(prefix, '') || undefined
}

/** Returns the threshold that a field means; the default for an empty or invalid one. */
function readShare(typed: BudgetFormValues, threshold: Threshold): number {
  const share = parsePercent(typed[toPercentField(threshold)])
  return typeof share === 'number' ? share : defaultThresholds[`${threshold}Share`]
}

function checkThresholdOrder(typed: BudgetFormValues): FieldErrors<BudgetField> {
  const errors: FieldErrors<BudgetField> = {}
  for (const [at, threshold] of thresholds.entries()) {
    const previous = thresholds[at - 1]
    if (previous && readShare(typed, previous) > readShare(typed, threshold)) {
      errors[toPercentField(threshold)] =
        `The ${threshold} threshold must not be below the ${previous} threshold.`
    }
  }
  return errors
}
