import type { Child, FC } from 'hono/jsx'
import { budgetLimits } from '../../config'
import {
  type BudgetField,
  budgetFields,
  type FieldProblems,
  type TypedBudget,
} from './typed-budget'

export interface BudgetFormProps {
  typed: TypedBudget
  problems: FieldProblems
  /** Null when scope and period stay as they are. */
  names: ScopeName[] | null
  action: string
}

/** What a budget may be of; the form offers it, and takes others. */
export interface ScopeName {
  scope: string
  name: string
}

/** Everything that a budget is. A part that opens tells in its summary what it holds. */
export const BudgetForm: FC<BudgetFormProps> = ({ typed, problems, names, action }) => {
  const form = { typed, problems, first: budgetFields.find((field) => problems[field]) }
  return (
    <form class="form wide up4" method="post" action={action}>
      {names && <Place form={form} names={names} />}
      <fieldset>
        <Text form={form} name="limit_dollars" label="Limit in dollars" placeholder="no limit">
          Empty means no limit. With both, the one that is used up first holds.
        </Text>
        <Text form={form} name="limit_tokens" label="Limit in tokens" placeholder="no limit">
          Input and output together. With neither limit it only counts.
        </Text>
      </fieldset>
      {names && <Beginning form={form} />}
      <Thresholds form={form} />
      <div class="acts">
        <button type="submit" class="btn go">
          {names ? 'Make this budget' : 'Save'}
        </button>
        <a class="ul" href="/budgets">
          {names ? 'Make none' : 'Leave it as it is'}
        </a>
      </div>
    </form>
  )
}

interface FormState {
  typed: TypedBudget
  problems: FieldProblems
  /** The field that is wrong and comes first. */
  first: string | undefined
}

const scopeOptions = {
  agent: 'an agent',
  model: 'a model',
  executor: 'a provider, all its models',
  community: 'a community, its tasks',
  hub: 'the whole hub',
}

const periodOptions = { day: 'each day', week: 'each week', month: 'each month' }

const Place: FC<{ form: FormState; names: ScopeName[] }> = ({ form, names }) => (
  <fieldset>
    <Choice form={form} name="scope" label="It pays for" options={scopeOptions} />
    <Text
      form={form}
      name="name"
      label="Its name"
      list="scope-names"
      maxlength={budgetLimits.scopeIdCharsMax}
    >
      As scout, openai/gpt-6-sol, anthropic or general. The hub needs none.
    </Text>
    <Choice form={form} name="period" label="It begins anew" options={periodOptions} />
    <datalist id="scope-names">
      {names.map(({ scope, name }) => (
        <option value={name} label={scope} />
      ))}
    </datalist>
  </fieldset>
)

const Beginning: FC<{ form: FormState }> = ({ form }) => (
  <Part
    form={form}
    fields={['reset_day', 'timezone']}
    summary={`Begins on day ${form.typed.reset_day}, ${form.typed.timezone}`}
  >
    <Text form={form} name="reset_day" label="Reset day" mode="numeric">
      Of a week 1, Monday, to 7, Sunday. Of a month 1 to 28. A day has none.
    </Text>
    <Text form={form} name="timezone" label="Time zone" list="time-zones" maxlength={60}>
      Whose midnight counts, such as Europe/Berlin.
    </Text>
    <datalist id="time-zones">
      {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
        <option value={zone} />
      ))}
    </datalist>
  </Part>
)

const thresholdFields = [
  'warning_percent',
  'throttle_percent',
  'critical_percent',
  'allows_critical',
] as const

const Thresholds: FC<{ form: FormState }> = ({ form }) => {
  const { warning_percent, throttle_percent, critical_percent, allows_critical } = form.typed
  const shares = `${warning_percent}, ${throttle_percent} and ${critical_percent} %`
  return (
    <Part
      form={form}
      fields={thresholdFields}
      summary={`Thresholds at ${shares}${allows_critical ? ', critical tasks go on' : ''}`}
    >
      <Text form={form} name="warning_percent" label="Warns at, in %" mode="decimal">
        Agents are told to be sparing.
      </Text>
      <Text form={form} name="throttle_percent" label="Pauses own turns at, in %" mode="decimal">
        Nobody looks around on it; who is asked answers.
      </Text>
      <Text form={form} name="critical_percent" label="Refuses tasks at, in %" mode="decimal">
        Below 100 the rest is kept for critical tasks, or for nobody.
      </Text>
      <div>
        <label class="check">
          <input type="checkbox" name="allows_critical" checked={allows_critical === 'on'} />
          Critical tasks may go on beyond that, up to the limit
        </label>
      </div>
    </Part>
  )
}

/** Rarely used: shut unless something in it is wrong. */
const Part: FC<{
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

/** A field is described by what is wrong with it first, then by what it wants. */
const describe = ({ form, name }: FieldProps, hasNote: boolean) => {
  const isWrong = form.problems[name] !== undefined
  const notes = [...(isWrong ? [`${name}-wrong`] : []), ...(hasNote ? [`${name}-note`] : [])]
  return {
    ...(notes.length > 0 && { 'aria-describedby': notes.join(' ') }),
    ...(isWrong && { 'aria-invalid': 'true' as const }),
    ...(form.first === name && { autofocus: true }),
  }
}

const Wrong: FC<FieldProps> = ({ form, name }) =>
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
        {...describe(props, true)}
      />
      <Wrong {...props} />
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
      <select id={name} name={name} {...describe(props, false)}>
        {Object.entries(options).map(([value, words]) => (
          <option value={value} selected={form.typed[name] === value}>
            {words}
          </option>
        ))}
      </select>
      <Wrong {...props} />
    </div>
  )
}
