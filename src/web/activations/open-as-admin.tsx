import type { FC } from 'hono/jsx'
import { openings } from '../../shared/config'
import { activationPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'

type OpeningField = 'reason'
export type OpeningFormState = FormState<OpeningField>

/** The form with which an admin opens a private run. */
export const openingForm: FormDefinition<OpeningField> = {
  rejected: 'The run was not opened.',
  fields: { reason: { message: describeText('The reason', openings.reasonCharsMax) } },
}

export const emptyOpening: OpeningFormState = createForm({ reason: '' })

/** Says to an admin whom a run is private to, and opens it with a reason. */
export const OpenAsAdmin: FC<{ id: string; owners: string[]; form: OpeningFormState }> = (
  props,
) => {
  const { id, owners, form } = props
  const names = owners.join(' and ')
  return (
    <section class="block" aria-labelledby="open-heading">
      <h2 id="open-heading">Private to {names}</h2>
      <p class="meta">
        You see no texts of this run. You can open what agents keep private to {names} for an hour.
        The admin log records it with your reason, and{' '}
        {names.startsWith('m/') ? `the moderators of ${names} are` : `${names} is`} notified.
      </p>
      <ErrorSummary problem={form.problem} />
      <form class="form up3" method="post" action={`${activationPath(id)}/open`}>
        <FormKey />
        <Field
          form={form}
          name="reason"
          label="Reason"
          required
          maxlength={openings.reasonCharsMax}
        />
        <div>
          <button type="submit" class="btn">
            Open as admin
          </button>
        </div>
      </form>
    </section>
  )
}
