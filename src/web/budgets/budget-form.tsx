import type { Child, FC } from 'hono/jsx'
import { periodOptions, scopeOptions } from '../../hub/budgets/budget-labels'
import { budgetLimits } from '../../shared/config'
import {
  type BudgetField,
  type BudgetFormValues,
  budgetFields,
  type FieldErrors,
} from './form-values'

export interface BudgetFormProps {
  values: BudgetFormValues
  fieldErrors: FieldErrors
  /** Null when scope and period can't be changed. */
  names: ScopeSuggestion[] | null
  action: string
}

/** A name that the form suggests for a scope; other names are accepted too. */
export interface ScopeSuggestion {
  scope: string
  name: string
}

/** The form of a budget. A collapsed part shows its values in its summary. */
export const BudgetForm: FC<BudgetFormProps> = ({
  values: typed,
  fieldErrors: problems,
  names,
  action,
}) => {
  const form = { typed, problems, first: budgetFields.find((field) => problems[field]) }
  return (
    <form class="form wide up4" method="post" action={action}>
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
        <button type="submit" class="btn go">
          {names ? 'Create budget' : 'Save'}
        </button>
        <a class="ul" href="/budgets">
          Cancel
        </a>
      </div>
    </form>
  )
}

interface FormState {
  typed: BudgetFormValues
  problems: FieldErrors
  /** The first invalid field. */
  first: string | undefined
}

const ScopeFields: FC<{ form: FormState; names: ScopeSuggestion[] }> = ({ form, names }) => (
  <fieldset>
    <Choice form={form} name="scope" label="Scope" options={scopeOptions} />
    <Text
      form={form}
      name="name"
      label="Name"
      list="scope-names"
      maxlength={budgetLimits.scopeIdCharsMax}
    >
      For example scout, openai/gpt-6-sol, anthropic or general. Leave empty for the hub.
    </Text>
    <Choice form={form} name="period" label="Period" options={periodOptions} />
    <datalist id="scope-names">
      {names.map(({ scope, name }) => (
        <option value={name} label={scope} />
      ))}
    </datalist>
  </fieldset>
)

const ResetFields: FC<{ form: FormState }> = ({ form }) => (
  <CollapsedFields
    form={form}
    fields={['reset_day', 'timezone']}
    summary={`Resets on day ${form.typed.reset_day}, ${form.typed.timezone}`}
  >
    <Text form={form} name="reset_day" label="Resets on day" mode="numeric">
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

const ThresholdFields: FC<{ form: FormState }> = ({ form }) => {
  const { warning_percent, throttle_percent, critical_percent, allows_critical } = form.typed
  const shares = `${warning_percent}, ${throttle_percent} and ${critical_percent} %`
  return (
    <CollapsedFields
      form={form}
      fields={thresholdFields}
      summary={`Thresholds at ${shares}${allows_critical ? ', critical tasks continue' : ''}`}
    >
      <Text form={form} name="warning_percent" label="Warning at (%)" mode="decimal">
        Agents are asked to spend less.
      </Text>
      <Text form={form} name="throttle_percent" label="Throttle at (%)" mode="decimal">
        Exploration pauses. Mentions are still answered.
      </Text>
      <Text form={form} name="critical_percent" label="Critical at (%)" mode="decimal">
        Tasks are refused. Below 100, only critical tasks can use the rest, if allowed here.
      </Text>
      <div>
        <label class="check">
          <input type="checkbox" name="allows_critical" checked={allows_critical === 'on'} />
          Critical tasks can use the rest, up to the limit
        </label>
      </div>
    </CollapsedFields>
  )
}

/** Rarely used fields, collapsed unless one of them is invalid. */
const CollapsedFields: FC<{
  form: FormState
  fields: readonly BudgetField[]
  summary: string
  children?: Child
}> = ({ form, fields, summary, children }) => (
  <details {...(fields.some((field) => form.problems[field]) ? { open: true } : {})}>
    <summary>{summary}</summary>
    <fieldset class="up3">{children}</fieldset>
  </details>
)

interface FieldProps {
  form: FormState
  name: BudgetField
  label: string
}

/** Returns the ARIA attributes of a field: described by its error first, then by its note. */
const toFieldAttributes = ({ form, name }: FieldProps, hasNote: boolean) => {
  const isInvalid = form.problems[name] !== undefined
  const notes = [...(isInvalid ? [`${name}-wrong`] : []), ...(hasNote ? [`${name}-note`] : [])]
  return {
    ...(notes.length > 0 && { 'aria-describedby': notes.join(' ') }),
    ...(isInvalid && { 'aria-invalid': 'true' as const }),
    ...(form.first === name && { autofocus: true }),
  }
}

const FieldError: FC<FieldProps> = ({ form, name }) =>
  form.problems[name] === undefined ? null : (
    <p class="bad" id={`${name}-wrong`}>
      {form.problems[name]}
    </p>
  )

interface TextProps extends FieldProps {
  list?: string
  mode?: 'numeric' | 'decimal'
  maxlength?: number
  placeholder?: string
  children?: Child
}

const Text: FC<TextProps> = (props) => {
  const { form, name, label, list, mode, maxlength = 30, placeholder, children } = props
  return (
    <div>
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        value={form.typed[name]}
        list={list}
        inputmode={mode}
        maxlength={maxlength}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        {...toFieldAttributes(props, true)}
      />
      <FieldError {...props} />
      <p class="meta" id={`${name}-note`}>
        {children}
      </p>
    </div>
  )
}

const Choice: FC<FieldProps & { options: Record<string, string> }> = (props) => {
  const { form, name, label, options } = props
  return (
    <div>
      <label for={name}>{label}</label>
      <select id={name} name={name} {...toFieldAttributes(props, false)}>
        {Object.entries(options).map(([value, optionLabel]) => (
          <option value={value} selected={form.typed[name] === value}>
            {optionLabel}
          </option>
        ))}
      </select>
      <FieldError {...props} />
    </div>
  )
}
