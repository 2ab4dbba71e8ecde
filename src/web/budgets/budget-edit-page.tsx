import type { Hono } from 'hono'
import type { Child, FC } from 'hono/jsx'
import { budgetErrors, changeBudget, createBudget, removeBudget } from '../../hub/budgets/actions'
import { type BudgetInput, budgetChange, budgetInput, limitMax } from '../../hub/budgets/inputs'
import {
  type PageBudget,
  selectBudget,
  selectBudgets,
  selectScopeNames,
} from '../../hub/budgets/page-queries'
import {
  formatBudgetOwner,
  nameHints,
  periodLabels,
  periodOptions,
  resetDayHints,
  scopeOptions,
} from '../../hub/budgets/usage-view'
import { type HubEnv, readReader, requireAdminViewer, toAppError } from '../../hub/http/page-entry'
import {
  defaultThresholds,
  type Threshold,
  type Thresholds,
  thresholds,
} from '../../hub/rules/budget-levels'
import { budgetLimits } from '../../shared/config'
import type { Statements } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import { formatBudgetMoney, formatCount } from '../../shared/format'
import { describeZone } from '../../shared/local-time'
import { Checkbox, ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeDollars,
  type FieldErrors,
  type FormDefinition,
  type FormField,
  type FormProblem,
  type FormState,
  formatDollars,
  invalidText,
  isChecked,
  listFields,
  markFields,
  parseDollars,
  readFormWith,
  rejectForm,
  type Typed,
  toCheckboxText,
  toProblem,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, type PageRead, page, readPage, sendPage } from '../frame/send-page'
import { TextLink } from '../parts/links'
import { budgetPath, deleteBudgetPath, newBudgetPath } from './budget-paths'
import {
  BudgetName,
  formatBudgetConsequence,
  formatBudgetPeriod,
  formatBudgetUsage,
} from './budgets-page'

/** Registers the forms `/budgets/new`, `/budgets/:id` and `/budgets/:id/delete`. */
export function registerBudgetForms(app: Hono<HubEnv>): void {
  app.get('/budgets/new', page(showNewForm))
  app.post('/budgets/new', page(submitNew))
  app.get('/budgets/:id', page(showEditForm))
  app.post('/budgets/:id', page(submitEdit))
  app.get('/budgets/:id/delete', page(showDeleteForm))
  app.post('/budgets/:id/delete', page(submitDelete))
}

async function readAsAdmin<Batch extends Statements>(
  c: PageContext,
  statements: Batch,
): Promise<PageRead<Batch>> {
  const read = await readPage(c, statements)
  const { viewer } = read.frame
  if (!viewer) throw budgetErrors.signIn()
  if (viewer.isAdmin) return read
  throw budgetErrors.adminOnly()
}

const idOf = (c: PageContext): string => c.req.param('id') ?? ''

const redirectToBudget = (c: PageContext, id: string): Response =>
  c.redirect(`/budgets#${encodeURIComponent(id)}`, 303)

/** Shows the form of a new budget, with a link to `duplicate`, a budget for the same scope and period. */
async function showNewForm(
  c: PageContext,
  form: BudgetFormState = createForm(newBudgetValues),
  status = 200,
  duplicate: BudgetInput | null = null,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const reader = await readReader(c)
  const { frame, answers } = await readAsAdmin(c, {
    names: selectScopeNames(now, reader),
    budgets: duplicate && selectBudgets({ now, reader }),
  })
  return sendPage(
    c,
    <NewBudgetPage
      frame={frame}
      form={form}
      names={answers.names}
      duplicate={duplicate && findDuplicate(answers.budgets ?? [], duplicate)}
    />,
    status,
  )
}

/** Returns the budget that an admin created for the same scope and period. */
function findDuplicate(budgets: PageBudget[], input: BudgetInput): PageBudget | null {
  const name = (input.name ?? '').toLowerCase()
  const isDuplicate = (budget: PageBudget) =>
    budget.madeBy === 'admin' &&
    budget.scope === input.scope &&
    budget.period === input.period &&
    toFormValues(budget).name.toLowerCase() === name
  return budgets.find(isDuplicate) ?? null
}

async function submitNew(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const read = readFormWith(budgetInput, await readForm(c), newBudgetForm)
  if (!read.isValid) return showNewForm(c, read.form, 400)
  const { form, value } = read
  try {
    const { answer } = await createBudget(c.var.context, await readFormActor(c, viewer), value)
    return redirectToBudget(c, answer.budget.id)
  } catch (error) {
    const { code, status, message } = toAppError(error)
    if (code === 'NOT_FOUND') {
      const errors = { name: `${message} ${formatNameHint(value.scope)}` }
      return showNewForm(c, markFields(newBudgetForm, form, errors), 400)
    }
    if (code !== 'CONFLICT') {
      const rejected = rejectLimits(newBudgetForm, form, error)
      return showNewForm(c, rejected.form, rejected.status)
    }
    const problem = { message, hint: 'Edit that budget, or choose another period.' }
    return showNewForm(c, { ...form, problem }, status, value)
  }
}

async function showEditForm(
  c: PageContext,
  submitted: BudgetFormState | null = null,
  status = 200,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const reader = await readReader(c)
  const { frame, answers } = await readAsAdmin(c, {
    budget: selectBudget({ id: idOf(c), now, reader }),
  })
  const { budget } = answers
  if (!budget) throw notFound('budget')
  const form = submitted ?? createForm(toFormValues(budget))
  return sendPage(c, <EditBudgetPage frame={frame} budget={budget} form={form} />, status)
}

async function submitEdit(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const read = readFormWith(budgetChange, await readForm(c), budgetChangeForm)
  if (!read.isValid) return showEditForm(c, read.form, 400)
  try {
    const { budget } = await changeBudget(c.var.context, viewer.id, idOf(c), read.value)
    return redirectToBudget(c, budget.id)
  } catch (error) {
    const { form, status } = rejectLimits(budgetChangeForm, read.form, error)
    return showEditForm(c, form, status)
  }
}

/** Returns the form with the errors at the limits that are too high; throws any other error. */
function rejectLimits(
  definition: FormDefinition<BudgetField>,
  form: BudgetFormState,
  error: unknown,
) {
  const { code, details } = toAppError(error)
  if (code !== 'VALIDATION' || !details) throw error
  return rejectForm(definition, form, error)
}

async function showDeleteForm(
  c: PageContext,
  problem: FormProblem | null = null,
  status = 200,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const reader = await readReader(c)
  const { frame, answers } = await readAsAdmin(c, {
    budget: selectBudget({ id: idOf(c), now, reader }),
    budgets: selectBudgets({ now, reader }),
  })
  const { budget, budgets } = answers
  if (!budget) throw notFound('budget')
  const props = { frame, budget, budgets, problem }
  return sendPage(c, <DeleteBudgetPage {...props} />, status)
}

async function submitDelete(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  try {
    await removeBudget(c.var.context, viewer.id, idOf(c))
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 409) throw error
    return showDeleteForm(c, problem, status)
  }
  return c.redirect('/budgets', 303)
}

interface NewBudgetPageProps {
  frame: Frame
  form: BudgetFormState
  names: ScopeSuggestion[]
  /** The existing budget with the same scope and period. */
  duplicate: PageBudget | null
}

const NewBudgetPage: FC<NewBudgetPageProps> = ({ frame, form, names, duplicate }) => (
  <Layout frame={frame} title="New budget" place="budgets" sheet="admin">
    <h1>New budget</h1>
    <p class="lede">
      A budget limits what the model calls of its scope can cost. Where several budgets apply, the
      tightest limit counts. Spending since the start of the current period is included.
    </p>
    <div class="up4">
      <ErrorSummary problem={form.problem} />
      {duplicate && (
        <p>
          <TextLink href={budgetPath(duplicate.id)}>
            Edit the {periodLabels[duplicate.period]} budget of {formatBudgetOwner(duplicate)}
          </TextLink>
        </p>
      )}
    </div>
    <BudgetForm form={form} names={names} action={newBudgetPath} />
  </Layout>
)

interface EditBudgetPageProps {
  frame: Frame
  budget: PageBudget
  form: BudgetFormState
}

const EditBudgetPage: FC<EditBudgetPageProps> = ({ frame, budget, form }) => (
  <Layout
    frame={frame}
    title={`Budget of ${formatBudgetOwner(budget)}`}
    place="budgets"
    sheet="admin"
  >
    <h1>Edit budget</h1>
    <BudgetTitle budget={budget} />
    <p class="lede">
      {formatBudgetUsage(budget)}. {formatBudgetConsequence(budget)}
    </p>
    {budget.madeBy === 'definition' && (
      <p class="lede">
        The definition of {formatBudgetOwner(budget)} sets the limit in dollars. A limit that you
        set here applies until the next version of the definition.
      </p>
    )}
    <div class="up4">
      <ErrorSummary problem={form.problem} />
    </div>
    <BudgetForm form={form} names={null} action={budgetPath(budget.id)} />
    <p class="meta up6">
      Scope and period can’t be changed. To use others,{' '}
      <a href={newBudgetPath}>create a new budget</a> and{' '}
      <a href={deleteBudgetPath(budget.id)}>delete this budget</a>.
    </p>
  </Layout>
)

const BudgetTitle: FC<{ budget: PageBudget }> = ({ budget }) => (
  <p class="by up2">
    <BudgetName budget={budget} /> <span class="meta">{formatBudgetPeriod(budget)}</span>
  </p>
)

interface RemoveBudgetPageProps {
  frame: Frame
  budget: PageBudget
  /** All budgets, including this one. */
  budgets: PageBudget[]
  problem: FormProblem | null
}

/** Asks for confirmation before a budget is deleted, or says why it can't be deleted. */
const DeleteBudgetPage: FC<RemoveBudgetPageProps> = (props) => {
  const { frame, budget, budgets, problem } = props
  const others = budgets.filter(
    ({ id, scope, scopeId }) =>
      id !== budget.id && scope === budget.scope && scopeId === budget.scopeId,
  )
  const isLast = budget.scope === 'hub' && others.length === 0
  const isDefined = budget.madeBy === 'definition' && budget.limitMicrousd !== null
  return (
    <Layout
      frame={frame}
      title={`Delete the budget of ${formatBudgetOwner(budget)}`}
      place="budgets"
      sheet="admin"
    >
      <h1>
        {isLast
          ? 'The hub’s last budget can’t be deleted'
          : isDefined
            ? 'A limit set by a definition can’t be deleted'
            : 'Delete this budget?'}
      </h1>
      <BudgetTitle budget={budget} />
      <div class="up4">
        <ErrorSummary problem={problem} />
      </div>
      {isLast || isDefined ? (
        <DeletionRefusal budget={budget} />
      ) : (
        <DeleteForm budget={budget} others={others} />
      )}
    </Layout>
  )
}

const DeletionRefusal: FC<{ budget: PageBudget }> = ({ budget }) => (
  <>
    <p class="lede">
      {budget.madeBy === 'definition'
        ? `The definition of ${formatBudgetOwner(budget)} sets this limit. Remove brain.max_cost_per_day from the definition, or change it there.`
        : 'Without a budget no agent can spend. Remove the limits of this budget instead.'}
    </p>
    <p class="acts up4">
      <a class="btn" href={budgetPath(budget.id)}>
        Edit budget
      </a>
      <TextLink href="/budgets">Back to budgets</TextLink>
    </p>
  </>
)

const DeleteForm: FC<{ budget: PageBudget; others: PageBudget[] }> = ({ budget, others }) => (
  <form class="form wide" method="post" action={deleteBudgetPath(budget.id)}>
    <ul class="lede">
      <li>{formatRemovedLimits(budget)} Recorded usage and charts stay.</li>
      <li>{formatOtherBudgets(budget, others)}</li>
      {budget.madeBy === 'definition' && (
        <li>
          The definition of {formatBudgetOwner(budget)} created this budget. The next version that
          sets brain.max_cost_per_day creates it again.
        </li>
      )}
    </ul>
    <div class="acts up2">
      <Submit>Delete budget</Submit>
      <TextLink href="/budgets">Cancel</TextLink>
    </div>
  </form>
)

function formatRemovedLimits({ limitMicrousd, limitTokens }: PageBudget): string {
  const limits = [
    ...(limitMicrousd === null ? [] : [formatBudgetMoney(limitMicrousd, limitMicrousd)]),
    ...(limitTokens === null ? [] : [`${formatCount(limitTokens)} tokens`]),
  ]
  if (limits.length === 0) return 'This budget has no limit.'
  return `The limit of ${limits.join(' and ')} no longer applies.`
}

function formatOtherBudgets(budget: PageBudget, others: PageBudget[]): string {
  if (others.length === 0) {
    return `${formatBudgetOwner(budget)} has no other budget. Budgets of other scopes still apply.`
  }
  const periods = [...new Set(others.map(({ period }) => periodLabels[period]))]
  return `${formatBudgetOwner(budget)} still has ${others.length === 1 ? 'another budget' : 'other budgets'}: ${periods.join(', ')}.`
}

interface BudgetFormProps {
  form: BudgetFormState
  /** Null when scope and period can't be changed. */
  names: ScopeSuggestion[] | null
  action: string
}

/** A name that the form suggests for a scope; other names are accepted too. */
interface ScopeSuggestion {
  scope: string
  name: string
}

/** The form of a budget. A collapsed part shows its values in its summary. */
const BudgetForm: FC<BudgetFormProps> = ({ form, names, action }) => (
  <form class="form wide up4" method="post" action={action}>
    <FormKey />
    {names && <ScopeFields form={form} names={names} />}
    <fieldset>
      <Text form={form} name="limit_dollars" label="Limit in dollars" placeholder="No limit">
        Leave empty for no limit. With both limits, the one reached first applies.
      </Text>
      <Text form={form} name="limit_tokens" label="Limit in tokens" placeholder="No limit">
        Input and output tokens. Without any limit, the budget only counts usage.
      </Text>
    </fieldset>
    {names && <ResetFields form={form} />}
    <ThresholdFields form={form} />
    <div class="acts">
      <Submit isMain>{names ? 'Create budget' : 'Save'}</Submit>
      <TextLink href="/budgets">Cancel</TextLink>
    </div>
  </form>
)

const ScopeFields: FC<{ form: BudgetFormState; names: ScopeSuggestion[] }> = ({ form, names }) => (
  <fieldset>
    <Field form={form} as="select" name="scope" label="Scope" options={scopeOptions} />
    <Text
      form={form}
      name="name"
      label="Name"
      list="scope-names"
      maxlength={budgetLimits.scopeIdCharsMax}
    >
      For example scout, openai/gpt-6-sol, anthropic or general. Leave empty for the hub, all
      guests, each member and each guest.
    </Text>
    <Field form={form} as="select" name="period" label="Period" options={periodOptions} />
    <datalist id="scope-names">
      {names.map(({ scope, name }) => (
        <option value={name} label={scope} />
      ))}
    </datalist>
  </fieldset>
)

const ResetFields: FC<{ form: BudgetFormState }> = ({ form }) => (
  <CollapsedFields
    form={form}
    fields={['reset_day', 'timezone']}
    summary={`Resets on day ${form.typed.reset_day}, ${form.typed.timezone}`}
  >
    <Text form={form} name="reset_day" label="Resets on day" inputmode="numeric">
      For a week 1 (Monday) to 7 (Sunday), for a month 1 to 28. Leave at 1 for a day.
    </Text>
    <Text form={form} name="timezone" label="Time zone" list="time-zones" maxlength={60}>
      The budget resets at midnight in this time zone, such as Europe/Berlin.
    </Text>
    <datalist id="time-zones">
      {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
        <option value={zone} />
      ))}
    </datalist>
  </CollapsedFields>
)

const thresholdFields = [
  'warning_percent',
  'throttle_percent',
  'critical_percent',
  'allows_critical',
] as const

const ThresholdFields: FC<{ form: BudgetFormState }> = ({ form }) => {
  const { warning_percent, throttle_percent, critical_percent, allows_critical } = form.typed
  const shares = `${warning_percent}, ${throttle_percent} and ${critical_percent} %`
  return (
    <CollapsedFields
      form={form}
      fields={thresholdFields}
      summary={`Thresholds at ${shares}${allows_critical ? ', critical tasks continue' : ''}`}
    >
      <Text form={form} name="warning_percent" label="Warning at (%)" inputmode="decimal">
        Agents are asked to spend less.
      </Text>
      <Text form={form} name="throttle_percent" label="Throttle at (%)" inputmode="decimal">
        Exploration pauses. Mentions are answered while the rest of the budget pays for them.
      </Text>
      <Text form={form} name="critical_percent" label="Critical at (%)" inputmode="decimal">
        Tasks are refused. Below 100, only critical tasks can use the rest, if allowed here.
      </Text>
      <Checkbox
        form={form}
        name="allows_critical"
        label="Critical tasks can use the rest, up to the limit"
      />
    </CollapsedFields>
  )
}

/** Rarely used fields, collapsed unless one of them is invalid. */
const CollapsedFields: FC<{
  form: BudgetFormState
  fields: readonly BudgetField[]
  summary: string
  children?: Child
}> = ({ form, fields, summary, children }) => (
  <details {...(fields.some((field) => form.errors[field]) ? { open: true } : {})}>
    <summary>{summary}</summary>
    <fieldset class="up3">{children}</fieldset>
  </details>
)

interface TextProps {
  form: BudgetFormState
  name: BudgetField
  label: string
  list?: string
  inputmode?: 'numeric' | 'decimal'
  maxlength?: number
  placeholder?: string
  /** The hint. */
  children?: Child
}

const Text: FC<TextProps> = ({ children, maxlength = 30, ...props }) => (
  <Field {...props} hint={children} maxlength={maxlength} autocomplete="off" spellcheck={false} />
)

/** A parsed form field: null for an empty field. */
type Amount = number | null | typeof invalidText

/** Digits, optionally with thousands separators (U+2019 is an apostrophe): tokens have no decimals, so a comma is unambiguous. */
const tokensPattern = /^(\d{1,16}|\d{1,3}([,'\u2019 ]\d{3})+)$/

export function parseTokens(text: string): Amount {
  const trimmed = text.trim().replace(/[\u00a0\u202f]/g, ' ')
  if (trimmed === '') return null
  if (!tokensPattern.test(trimmed)) return invalidText
  const tokens = Number(trimmed.replace(/\D/g, ''))
  return tokens > limitMax ? invalidText : tokens
}

export const formatTokens = (tokens: number | null): string =>
  tokens === null ? '' : tokens.toLocaleString('en-US')

const percentPattern = /^(\d{1,3}(?:\.\d{1,6})?)\s*%?$/

/** Parses a percentage into a share from 0 to 1. */
export function parsePercent(text: string): Amount {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const percent = percentPattern.exec(trimmed)?.[1]
  if (percent === undefined || Number(percent) > 100) return invalidText
  return Number((Number(percent) / 100).toFixed(8))
}

export const formatPercent = (share: number): string => String(Number((share * 100).toFixed(6)))

/** Parses the reset day, a day of the week from 1 (Monday) or of the month; `budgetInput` checks the range. */
function parseResetDay(text: string): Amount {
  const trimmed = text.trim()
  if (trimmed === '') return null
  return /^\d{1,2}$/.test(trimmed) ? Number(trimmed) : invalidText
}

const toPercentField = (threshold: Threshold) => `${threshold}_percent` as const
type PercentField = ReturnType<typeof toPercentField>

/** Returns a record with the field of each threshold. */
const fromThresholds = <Value,>(toValue: (threshold: Threshold) => Value) =>
  Object.fromEntries(thresholds.map((each) => [toPercentField(each), toValue(each)])) as Record<
    PercentField,
    Value
  >

const formatPercents = (shares: Thresholds): Record<PercentField, string> =>
  fromThresholds((each) => formatPercent(shares[`${each}Share`]))

type BudgetField =
  | 'scope'
  | 'name'
  | 'period'
  | 'limit_dollars'
  | 'limit_tokens'
  | 'reset_day'
  | 'timezone'
  | PercentField
  | 'allows_critical'

type BudgetFormState = FormState<BudgetField>

/** The values of the budget form. */
type BudgetFormValues = Typed<BudgetField>

/** The form values of a new budget. */
const newBudgetValues: BudgetFormValues = {
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
const toFormValues = (budget: PageBudget): BudgetFormValues => ({
  scope: budget.scope,
  name: budget.name ?? budget.community?.name ?? budget.scopeId,
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
const newBudgetForm: FormDefinition<BudgetField> = {
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
      message: (text) => describeDollars(text, 'Enter an amount in dollars such as 25 or 12.50.'),
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
      message: describeZone,
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
const budgetChangeForm: FormDefinition<BudgetField> = {
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
const formatNameHint = (scope: string): string => nameHints[scope] ?? chooseHint

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
