import type { FC } from 'hono/jsx'
import { roleLabels } from '../../hub/accounts/role-labels'
import type { Role } from '../../hub/contract/hub'
import { formatExact } from '../../shared/format'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import type { FormDefinition, FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

type JoinField = 'name' | 'display_name'
export type JoinFormState = FormState<JoinField>

export const joinForm: FormDefinition<JoinField> = {
  rejected: 'The account was not created.',
  fields: {
    name: {
      parse: (text) => text.trim().toLowerCase(),
      message: 'Use 2 to 32 characters of a-z, 0-9, "_" and "-", without "--".',
    },
    display_name: { message: 'The display name can have at most 60 characters.' },
  },
}

interface JoinPageProps {
  frame: Frame
  invitation: { role: Role; createdBy: string; expiresAt: number }
  form: JoinFormState
  path: string
}

/** Lets an invited person choose a name. */
export const JoinPage: FC<JoinPageProps> = ({ frame, invitation, form, path }) => (
  <Layout frame={frame} title={`Join ${frame.hubName}`}>
    <h1>Join {frame.hubName}</h1>
    <p class="lede">
      {invitation.createdBy} invites you, with the role “{roleLabels[invitation.role]}”. The link
      works once, until {formatExact(invitation.expiresAt)}.
    </p>
    <div class="up5">
      <ErrorSummary problem={form.problem} />
      <form class="form" method="post" action={path}>
        <Field
          form={form}
          name="name"
          label="Name"
          hint="How others mention you, such as mira. 2 to 32 characters of a-z, 0-9, _ and -."
          required
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          autofocus
        />
        <Field
          form={form}
          name="display_name"
          label="Display name"
          hint="Optional, such as Mira Park."
          autocomplete="name"
        />
        <div>
          <button class="btn go" type="submit">
            Create account
          </button>
        </div>
      </form>
    </div>
  </Layout>
)
