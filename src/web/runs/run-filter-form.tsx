import type { FC } from 'hono/jsx'
import { outcomeOptions } from '../../hub/traces/run-labels'
import { runLists } from '../../shared/config'
import { Field } from '../form/field'
import { createForm, type Typed } from '../form/form-state'

/** Fields of the filter, in the order of the page. */
export const runFilterFields = [
  ...(['agent', 'outcome', 'requester', 'text'] as const),
  ...(['cost_from', 'tokens_from', 'since', 'until'] as const),
]

/** The values of the filter form; '' for empty fields. */
export type RunFilterValues = Typed<(typeof runFilterFields)[number]>

export const RunFilterForm: FC<{ typed: RunFilterValues }> = ({ typed }) => {
  const form = createForm(typed)
  const text = { form, autocomplete: 'off' }
  const outcomes = { '': 'Any', ...outcomeOptions }
  return (
    <form class="filter" action="/runs" aria-label="Filter runs">
      <Field {...text} name="agent" label="Agent" placeholder="Any" />
      <Field form={form} as="select" name="outcome" label="Outcome" options={outcomes} />
      <Field {...text} name="requester" label="Asked by" placeholder="Anybody" />
      <Field
        {...text}
        name="text"
        label="Title or task"
        placeholder="Contains"
        maxlength={runLists.textCharsMax}
      />
      <Field
        {...text}
        name="cost_from"
        label="Cost from ($)"
        placeholder="0.05"
        inputmode="decimal"
      />
      <Field
        {...text}
        name="tokens_from"
        label="Tokens from"
        placeholder="10000"
        inputmode="numeric"
      />
      <Field {...text} name="since" label="From (UTC)" type="date" />
      <Field {...text} name="until" label="Before (UTC)" type="date" />
      <button type="submit" class="btn">
        Filter
      </button>
    </form>
  )
}
