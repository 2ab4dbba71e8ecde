import type { FC } from 'hono/jsx'
import { decisionWords, outcomeWords } from './audit-words'

/** The fields of the form as they were typed; '' where nothing was. */
export type TypedFilter = Record<(typeof filterFields)[number], string>

export const filterFields = ['account', 'tool', 'decision', 'outcome', 'since', 'until'] as const

export const FilterForm: FC<{ typed: TypedFilter }> = ({ typed }) => (
  <form class="filter" action="/audit" aria-label="Which calls">
    <Field name="account" label="Account" typed={typed} placeholder="anybody" />
    <Field name="tool" label="Tool" typed={typed} placeholder="any, or github_*" />
    <Choice name="decision" label="Decision" typed={typed} words={decisionWords} />
    <Choice name="outcome" label="End" typed={typed} words={outcomeWords} />
    <Field name="since" label="From (UTC)" typed={typed} type="date" />
    <Field name="until" label="Before (UTC)" typed={typed} type="date" />
    <button type="submit" class="btn">
      Show
    </button>
  </form>
)

interface FieldProps {
  name: keyof TypedFilter
  label: string
  typed: TypedFilter
}

const Field: FC<FieldProps & { type?: string; placeholder?: string }> = (props) => {
  const { name, label, typed, type = 'text', placeholder } = props
  return (
    <div>
      <label for={`by-${name}`}>{label}</label>
      <input
        id={`by-${name}`}
        name={name}
        type={type}
        value={typed[name]}
        placeholder={placeholder}
        autocomplete="off"
      />
    </div>
  )
}

const Choice: FC<FieldProps & { words: Record<string, string> }> = (props) => {
  const { name, label, typed, words } = props
  return (
    <div>
      <label for={`by-${name}`}>{label}</label>
      <select id={`by-${name}`} name={name}>
        <option value="">any</option>
        {Object.entries(words).map(([value, word]) => (
          <option value={value} selected={typed[name] === value}>
            {word}
          </option>
        ))}
      </select>
    </div>
  )
}
