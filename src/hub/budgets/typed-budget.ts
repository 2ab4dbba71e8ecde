import type * as z from 'zod'
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

/** In the order of the form. */
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

/** A budget as it stands in its form. */
export type TypedBudget = Record<BudgetField, string>
/** What is wrong with a field, as a sentence. */
export type FieldProblems = Partial<Record<BudgetField, string>>

const { warningShare, throttleShare, criticalShare } = usualThresholds

/** The form of a new one. */
export const freshBudget: TypedBudget = {
  ...{ scope: 'agent', name: '', period: 'month', reset_day: '1', timezone: 'UTC' },
  ...{ limit_dollars: '', limit_tokens: '', allows_critical: '' },
  warning_percent: writeShare(warningShare),
  throttle_percent: writeShare(throttleShare),
  critical_percent: writeShare(criticalShare),
}

export const typeBudget = (budget: PageBudget): TypedBudget => ({
  ...{ scope: budget.scope, name: budget.name ?? budget.community ?? budget.scopeId },
  ...{ period: budget.period, reset_day: String(budget.resetDay), timezone: budget.timezone },
  limit_dollars: writeLimit(budget.limitMicrousd),
  limit_tokens: writeTokens(budget.limitTokens),
  warning_percent: writeShare(budget.warningShare),
  throttle_percent: writeShare(budget.throttleShare),
  critical_percent: writeShare(budget.criticalShare),
  allows_critical: budget.allowsCritical === 1 ? 'on' : '',
})

type Read<Body> = { body: Body; problems: null } | { body: null; problems: FieldProblems }

export const readNewBudget = (typed: TypedBudget): Read<BudgetInput> =>
  readFields(typed, budgetInput, {
    ...{ scope: typed.scope, name: readName(typed), period: typed.period },
    reset_day: readResetDay(typed.reset_day) ?? 1,
    timezone: typed.timezone.trim() || 'UTC',
    ...readChangeable(typed),
  })

export const readBudgetChange = (typed: TypedBudget): Read<BudgetChange> =>
  readFields(typed, budgetChange, readChangeable(typed))

/** `@scout` and `m/general` are how pages name them. */
const readName = ({ scope, name }: TypedBudget): string | undefined => {
  const mark = scope === 'agent' ? /^@/ : scope === 'community' ? /^m\// : /^$/
  return name.trim().replace(mark, '') || undefined
}

/** A share that is left empty is the usual one. */
const readChangeable = (typed: TypedBudget): object => ({
  limit_microusd: readLimit(typed.limit_dollars),
  limit_tokens: readTokens(typed.limit_tokens),
  warning_share: readShare(typed.warning_percent) ?? warningShare,
  throttle_share: readShare(typed.throttle_percent) ?? throttleShare,
  critical_share: readShare(typed.critical_percent) ?? criticalShare,
  allows_critical: typed.allows_critical === 'on',
})

/** Every field that is wrong is told, not the first one. */
function readFields<Body>(typed: TypedBudget, schema: z.ZodType<Body>, raw: object): Read<Body> {
  const parsed = schema.safeParse(raw)
  const wrong = new Set(parsed.success ? [] : listWrong(parsed.error))
  for (const [field, read] of Object.entries(readers)) {
    if (read(typed[field as BudgetField]) === undefined) wrong.add(field as BudgetField)
  }
  const problems: FieldProblems = { ...findDisorder(typed) }
  for (const field of wrong) problems[field] = sayWrong(field, typed)
  if (parsed.success && Object.keys(problems).length === 0) {
    return { body: parsed.data, problems: null }
  }
  return { body: null, problems }
}

const readers = {
  limit_dollars: readLimit,
  limit_tokens: readTokens,
  warning_percent: readShare,
  throttle_percent: readShare,
  critical_percent: readShare,
  reset_day: readResetDay,
}

/** The fields of the API that are typed in other units. */
const fieldOf: Record<string, BudgetField> = {
  limit_microusd: 'limit_dollars',
  warning_share: 'warning_percent',
  throttle_share: 'throttle_percent',
  critical_share: 'critical_percent',
}

const listWrong = (error: z.ZodError): BudgetField[] =>
  error.issues.map(({ path }) => {
    const name = String(path[0])
    return fieldOf[name] ?? (name as BudgetField)
  })

function findDisorder(typed: TypedBudget): FieldProblems {
  const warning = readShare(typed.warning_percent) ?? warningShare
  const throttle = readShare(typed.throttle_percent) ?? throttleShare
  const critical = readShare(typed.critical_percent) ?? criticalShare
  return {
    ...(warning > throttle && { throttle_percent: 'This is less than what it warns at.' }),
    ...(throttle > critical && { critical_percent: 'This is less than what own turns pause at.' }),
  }
}

const nameWords: Record<string, string> = {
  hub: 'The hub has no name: leave this empty, or choose what else it pays for.',
  agent: 'Name an agent of this hub, such as scout.',
  executor: 'Name a provider without a model, such as anthropic.',
  model: 'Name a model as provider/model, such as openai/gpt-6-sol.',
  community: 'Name a community of this hub, such as general.',
}

const dayWords: Record<string, string> = {
  day: 'A day begins at midnight: leave this at 1.',
  week: 'A week begins on a day from 1, Monday, to 7, Sunday.',
  month: 'A month begins on a day from 1 to 28.',
}

const aShare = 'That is not a share of the limit: write 0 to 100.'

/** What a field wants, given what the others say. */
export function sayWrong(field: BudgetField, typed: TypedBudget): string {
  const words: Partial<Record<BudgetField, string | undefined>> = {
    name: nameWords[typed.scope],
    reset_day: dayWords[typed.period],
    timezone: 'That is no time zone. Europe/Berlin is one.',
    limit_dollars: 'That is not an amount of dollars. Write a number such as 25 or 12.50.',
    limit_tokens: 'That is not a number of tokens. Write one such as 2,000,000.',
    ...{ warning_percent: aShare, throttle_percent: aShare, critical_percent: aShare },
  }
  return words[field] ?? 'Choose one of these.'
}
