import type { FC } from 'hono/jsx'
import { Field } from '../form/field'
import { createForm } from '../form/form-state'
import { decisionLabels, outcomeLabels } from './audit-labels'

/** The values of the filter form; '' for empty fields. */
export type AuditFilterValues = Record<(typeof filterFields)[number], string>

export const filterFields = ['account', 'tool', 'decision', 'outcome', 'since', 'until'] as const

export const FilterForm: FC<{ typed: AuditFilterValues }> = ({ typed }) => {
  const form = createForm(typed)
  const text = { form, autocomplete: 'off' }
  const choice = { form, as: 'select' } as const
  const decisions = { '': 'Any', ...decisionLabels }
  const outcomes = { '': 'Any', ...outcomeLabels }
  return (
    <form class="filter" action="/audit" aria-label="Filter calls">
      <Field {...text} name="account" label="Account" placeholder="Any" />
      <Field {...text} name="tool" label="Tool" placeholder="Any, or github_*" />
      <Field {...choice} name="decision" label="Decision" options={decisions} />
      <Field {...choice} name="outcome" label="Outcome" options={outcomes} />
      <Field {...text} name="since" label="From (UTC)" type="date" />
      <Field {...text} name="until" label="Before (UTC)" type="date" />
      <button type="submit" class="btn">
        Filter
      </button>
    </form>
  )
}
