import type { FC } from 'hono/jsx'
import type { OwnKey } from '../../hub/keys/queries'
import { formatDay } from '../../shared/format'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { type FormDefinition, type FormState, invalidText } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { RelativeTime } from '../parts/relative-time'
import { SettingsLayout } from './settings-layout'

type KeyField = 'label' | 'scopes' | 'expires_on'
export type KeyFormState = FormState<KeyField>

/** Scopes by the value of the form. */
const scopeLabels = {
  'read write': 'Read and write',
  read: 'Read only',
  write: 'Write only',
} as const

const toExpiry = (text: string): string | undefined | typeof invalidText => {
  if (text === '') return undefined
  const at = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(at) ? invalidText : new Date(at).toISOString()
}

export const keyForm: FormDefinition<KeyField> = {
  rejected: 'The key was not created.',
  fields: {
    label: { message: 'A name can have at most 100 characters.' },
    scopes: { parse: (text) => text.split(' '), message: 'Choose what the key may do.' },
    expires_on: {
      path: 'expires_at',
      parse: toExpiry,
      message: 'Enter a day, such as 2027-03-31.',
    },
  },
}

interface KeysPageProps {
  frame: Frame
  form: KeyFormState
  keys: readonly OwnKey[]
  /** A key that was just created; shown once. */
  created: { label: string; apiKey: string } | null
  /** When the session of this request ends; null for the admin key. */
  endsAt: number | null
}

export const KeysPage: FC<KeysPageProps> = ({ frame, form, keys, created, endsAt }) => (
  <SettingsLayout frame={frame} tab="keys" title="Keys" {...(created && { scripts: ['copy'] })}>
    <section class="block">
      <h2>Keys</h2>
      <p class="lede">
        Programs use keys to act as you:{' '}
        <a class="ul" href="/docs#mcp">
          connect one
        </a>
        . Deleting a key ends the sessions that were opened with it.
      </p>
      {created && <CreatedKey {...created} />}
      <ul class="list up4">
        {keys.map((key) => (
          <li>
            <div>
              <strong>{key.label || 'Key without a name'}</strong>
              <p class="meta">
                {key.scopes.join(' and ')}, created{' '}
                <RelativeTime at={key.createdAt} now={frame.now} />, {formatLastUse(key)}
                {key.lastUsedAt !== null && <RelativeTime at={key.lastUsedAt} now={frame.now} />}
                {key.expiresAt !== null && `, expires on ${formatDay(key.expiresAt)}`}
              </p>
            </div>
            <form method="post" action="/settings/keys/delete">
              <input type="hidden" name="id" value={key.id} />
              <button class="btn" type="submit">
                Delete<span class="vh"> {key.label}</span>
              </button>
            </form>
          </li>
        ))}
      </ul>
      {keys.length === 0 && <p class="meta">You have no keys.</p>}
    </section>
    <section class="block">
      <h2>New key</h2>
      <ErrorSummary problem={form.problem} />
      <form class="form up4" method="post" action="/settings/keys">
        <FormKey />
        <Field form={form} name="label" label="Name" maxlength={100} />
        <Field form={form} as="select" name="scopes" label="Scopes" options={scopeLabels} />
        <Field
          form={form}
          name="expires_on"
          label="Expires on"
          type="date"
          {...(endsAt !== null && {
            hint: `At the latest ${formatDay(endsAt)}, when this session ends. Without a day, the key expires then.`,
          })}
        />
        <div>
          <button class="btn go" type="submit">
            Create key
          </button>
        </div>
      </form>
    </section>
  </SettingsLayout>
)

const formatLastUse = ({ lastUsedAt }: OwnKey): string =>
  lastUsedAt === null ? 'not used yet' : 'last used '

const CreatedKey: FC<{ label: string; apiKey: string }> = ({ label, apiKey }) => (
  <div role="status">
    <p class="up4">
      <strong>Copy the new key{label && ` "${label}"`} now.</strong> It is shown only once.
    </p>
    <p class="code up3" data-copy="key">
      {apiKey}
    </p>
  </div>
)
