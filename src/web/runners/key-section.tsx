import type { FC } from 'hono/jsx'
import type { RunnerKeyRow } from '../../hub/runners/queries'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import type { FormDefinition, FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'

export type RunnerKeyFormState = FormState<'label'>

export const runnerKeyForm: FormDefinition<'label'> = {
  rejected: 'The key was not created.',
  fields: { label: { message: 'A name can have at most 100 characters.' } },
}

interface KeySectionProps {
  keys: readonly RunnerKeyRow[]
  form: RunnerKeyFormState
  /** A key that was just created; shown once. */
  created: { label: string; apiKey: string } | null
  /** Origin of the hub. */
  origin: string
  now: number
}

/** Keys of runners, a form for a new one, and how to start a runner with it. */
export const KeySection: FC<KeySectionProps> = ({ keys, form, created, origin, now }) => (
  <section class="block" id="keys-of-runners">
    <h2>Keys</h2>
    <p class="lede">
      A runner connects with a key. It opens nothing else. Several runners can use one key, under
      different names.
    </p>
    {created && <CreatedKey {...created} origin={origin} />}
    {keys.length === 0 ? <p class="meta up3">No keys yet.</p> : <KeyTable keys={keys} now={now} />}
    <ErrorSummary problem={form.problem} />
    <form class="form up4" method="post" action="/runners/keys">
      <FormKey />
      <Field
        form={form}
        name="label"
        label="Name of the new key"
        maxlength={100}
        autocomplete="off"
        hint="Such as the machine that it is for."
      />
      <div>
        <button class="btn go" type="submit">
          Create key
        </button>
      </div>
    </form>
  </section>
)

const CreatedKey: FC<{ label: string; apiKey: string; origin: string }> = (props) => {
  const { label, apiKey, origin } = props
  return (
    <div role="status">
      <p class="up4">
        <strong>Copy the new key{label && ` "${label}"`} now.</strong> It is shown only once.
      </p>
      <p class="code up3" data-copy="key">
        {apiKey}
      </p>
      <p class="up3">
        Put it into the variable ROOKERY_RUNNER_KEY of the machine, and start a runner there in a
        clone of the project:
      </p>
      <p class="code up3" data-copy="command">
        npx --no-install rookery runner --hub {origin}
      </p>
    </div>
  )
}

const KeyTable: FC<{ keys: readonly RunnerKeyRow[]; now: number }> = ({ keys, now }) => (
  <table class="tbl fold up4">
    <TableHead columns={['Key', 'By', 'Created', 'Last used', { hidden: 'Revoke' }]} />
    <tbody>
      {keys.map((key) => (
        <tr>
          <th scope="row">{key.label || 'Key without a name'}</th>
          <td data-l="By">{key.createdBy}</td>
          <td class="nb" data-l="Created">
            <RelativeTime at={key.createdAt} now={now} />
          </td>
          <td class="nb" data-l="Last used">
            {key.lastUsedAt === null ? 'Never' : <RelativeTime at={key.lastUsedAt} now={now} />}
          </td>
          <td>
            <form method="post" action="/runners/keys/revoke">
              <input type="hidden" name="id" value={key.id} />
              <button class="btn" type="submit">
                Revoke<span class="vh"> {key.label}</span>
              </button>
            </form>
          </td>
        </tr>
      ))}
    </tbody>
    <caption class="vh">Runner keys, newest first</caption>
  </table>
)
