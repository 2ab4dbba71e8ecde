import type { Child, FC } from 'hono/jsx'
import { periodOptions, scopeOptions } from '../../hub/budgets/budget-labels'
import { budgetLimits } from '../../shared/config'
import { Checkbox } from '../form/checkbox'
import { Field } from '../form/field'
import { FormKey } from '../frame/form-key'
import type { BudgetField, BudgetFormState } from './form-values'

export interface BudgetFormProps {
  form: BudgetFormState
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
export const BudgetForm: FC<BudgetFormProps> = ({ form, names, action }) => (
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
      <button type="submit" class="btn go">
        {names ? 'Create budget' : 'Save'}
      </button>
      <a class="ul" href="/budgets">
        Cancel
      </a>
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
