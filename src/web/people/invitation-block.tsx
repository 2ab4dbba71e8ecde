import type { FC } from 'hono/jsx'
import { roleLabels } from '../../hub/accounts/role-labels'
import { findInvitationState } from '../../hub/invitations/invitation-state'
import type { InvitationRow } from '../../hub/invitations/queries'
import { formatExact } from '../../shared/format'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import type { FormDefinition, FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { TableHead } from '../parts/table-head'
import { invitationLabels } from './people-labels'

type InvitationField = 'role' | 'expires_in_days' | 'note'
export interface InvitationState {
  form: FormState<InvitationField>
  /** The link of the invitation that was just made; it is shown once. */
  url: string | null
}

export const invitationForm: FormDefinition<InvitationField> = {
  rejected: 'The invitation was not created.',
  fields: {
    role: {},
    expires_in_days: { parse: Number, message: 'Enter 1 to 90 days.' },
    note: { message: 'The note can have at most 200 characters.' },
  },
}

interface InvitationBlockProps {
  frame: Frame
  invitations: InvitationRow[]
  invitation: InvitationState
}

/** Form that invites a person, and the last invitations. */
export const InvitationBlock: FC<InvitationBlockProps> = ({ frame, invitations, invitation }) => {
  const { form, url } = invitation
  return (
    <section class="block" id="invite">
      <h2>Invite a person</h2>
      <ErrorSummary problem={form.problem} />
      {url !== null && (
        <div class="form up3">
          <label for="link">Invitation link, shown only now</label>
          <input id="link" type="text" readonly value={url} data-copy="invitation link" />
          <p class="meta">
            Send it to one person. It works once.
            {isLoopback(url) &&
              ' It opens on this machine only, until others can reach the hub: see docs/exposing.md.'}
          </p>
        </div>
      )}
      <form class="filter up3" method="post" action="/admin/people/invitations">
        <FormKey />
        <Field
          form={form}
          as="select"
          name="role"
          label="Role"
          id="invite-role"
          options={roleLabels}
        />
        <Field
          form={form}
          name="expires_in_days"
          label="Days until it expires"
          type="number"
          min="1"
          max="90"
          required
        />
        <Field form={form} name="note" label="Note, for admins only" autocomplete="off" />
        <button class="btn go" type="submit">
          Create link
        </button>
      </form>
      {invitations.length > 0 && (
        <details class="up4">
          <summary>Latest invitations</summary>
          <InvitationTable rows={invitations} now={frame.now} />
        </details>
      )}
    </section>
  )
}

const isLoopback = (url: string): boolean =>
  ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname)

const InvitationTable: FC<{ rows: InvitationRow[]; now: number }> = ({ rows, now }) => (
  <table class="tbl fold">
    <TableHead columns={['Note', 'Role', 'By', 'Expires', 'State']} />
    <tbody>
      {rows.map((row) => {
        const state = findInvitationState(row, now)
        return (
          <tr>
            <td>{row.note || 'None'}</td>
            <td data-l="Role">{roleLabels[row.role]}</td>
            <td data-l="By">{row.createdBy}</td>
            <td data-l="Expires">{formatExact(row.expiresAt)}</td>
            <td data-l="State">
              {invitationLabels[state]}
              {row.usedBy !== null && ` by ${row.usedBy}`}
              {state === 'open' && (
                <form method="post" action={`/admin/people/invitations/${row.id}/withdraw`}>
                  <button class="btn" type="submit">
                    Withdraw
                  </button>
                </form>
              )}
            </td>
          </tr>
        )
      })}
    </tbody>
    <caption class="vh">Invitations, newest first</caption>
  </table>
)
