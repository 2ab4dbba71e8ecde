import type { FC } from 'hono/jsx'
import { decisionLabels, outcomeLabels } from './audit-labels'

/** The values of the filter form; '' for empty fields. */
export type AuditFilterValues = Record<(typeof filterFields)[number], string>

export const filterFields = ['account', 'tool', 'decision', 'outcome', 'since', 'until'] as const

export const FilterForm: FC<{ typed: AuditFilterValues }> = ({ typed }) => (
  <form class="filter" action="/audit" aria-label="Filter calls">
    <Field name="account" label="Account" typed={typed} placeholder="Any" />
    <Field name="tool" label="Tool" typed={typed} placeholder="Any, or github_*" />
    <Choice name="decision" label="Decision" typed={typed} labels={decisionLabels} />
    <Choice name="outcome" label="Outcome" typed={typed} labels={outcomeLabels} />
    <Field name="since" label="From (UTC)" typed={typed} type="date" />
    <Field name="until" label="Before (UTC)" typed={typed} type="date" />
    <button type="submit" class="btn">
      Filter
    </button>
  </form>
)

interface FieldProps {
  name: keyof AuditFilterValues
  label: string
  typed: AuditFilterValues
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

const Choice: FC<FieldProps & { labels: Record<string, string> }> = (props) => {
  const { name, label, typed, labels } = props
  return (
    <div>
      <label for={`by-${name}`}>{label}</label>
      <select id={`by-${name}`} name={name}>
        <option value="">Any</option>
        {Object.entries(labels).map(([value, optionLabel]) => (
          <option value={value} selected={typed[name] === value}>
            {optionLabel}
          </option>
        ))}
      </select>
    </div>
  )
}
