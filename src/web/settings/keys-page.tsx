import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, requireViewer } from '../../hub/http/page-entry'
import { createKey, keyInput, removeKey } from '../../hub/sign-in/key-actions'
import { type OwnKey, selectOwnExpiry, selectOwnKeys } from '../../hub/sign-in/key-queries'
import { formatDay } from '../../shared/format'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  invalidText,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { TextLink } from '../parts/links'
import { RelativeTime } from '../parts/times'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  SettingsLayout,
  settingsPage,
} from './settings'

const emptyForm = (): KeyFormState =>
  createForm({ label: '', scopes: 'read write', expires_on: '' })

/** Registers `/settings/keys`: the keys of the viewer's programs. */
export function registerKeySettings(app: Hono<HubEnv>): void {
  app.get(
    '/settings/keys',
    settingsPage((c) => showKeys(c, { form: emptyForm() })),
  )
  app.post('/settings/keys', page(addKey))
  app.post(
    '/settings/keys/delete',
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await removeKey(c.var.context, viewer.id, (await readForm(c))('id'))
      return c.redirect('/settings/keys', 303)
    }),
  )
}

/** Creates a key and shows it in the response: a redirect would put it into the browser's history. */
async function addKey(c: PageContext): Promise<Response> {
  const read = readFormWith(keyInput, await readForm(c), keyForm)
  try {
    const viewer = await requireReadingSender(c)
    if (!read.isValid) return showKeys(c, { form: read.form, status: 400 })
    const { answer } = await createKey(
      c.var.context,
      await readFormActor(c, viewer),
      viewer.keyId,
      read.value,
    )
    return showKeys(c, { form: emptyForm(), created: answer })
  } catch (error) {
    return showKeys(c, rejectForm(keyForm, read.form, error))
  }
}

interface Shown {
  form: KeyFormState
  created?: { label: string; apiKey: string }
  status?: number
}

async function showKeys(c: PageContext, { form, created, status = 200 }: Shown): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    keys: selectOwnKeys(credential, now),
    own: selectOwnExpiry(credential, now),
  })
  assertSignedIn(frame)
  const endsAt = answers.own?.expiresAt ?? null
  const props = { frame, form, keys: answers.keys, created: created ?? null, endsAt }
  return sendPage(c, <KeysPage {...props} />, status)
}

type KeyField = 'label' | 'scopes' | 'expires_on'
type KeyFormState = FormState<KeyField>

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

const keyForm: FormDefinition<KeyField> = {
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

const KeysPage: FC<KeysPageProps> = ({ frame, form, keys, created, endsAt }) => (
  <SettingsLayout frame={frame} tab="keys" title="Keys" {...(created && { scripts: ['copy'] })}>
    <Block title="Keys">
      <p class="lede">
        Programs use keys to act as you: <TextLink href="/docs#mcp">connect one</TextLink>. Deleting
        a key ends the sessions that were opened with it.
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
              <Submit>
                Delete<span class="vh"> {key.label}</span>
              </Submit>
            </form>
          </li>
        ))}
      </ul>
      {keys.length === 0 && <p class="meta">You have no keys.</p>}
    </Block>
    <Block title="New key">
      <ErrorSummary problem={form.problem} />
      <form class="form up4" method="post" action="/settings/keys">
        <FormKey />
        <Field form={form} name="label" label="Name" maxlength={100} />
        <Field form={form} as="select" name="scopes" label="Scopes" options={scopeLabels} />
        <Field
          form={form}
          name="expires_on"
          label="Expires on (optional)"
          type="date"
          hint={formatExpiry(endsAt)}
        />
        <div>
          <Submit isMain>Create key</Submit>
        </div>
      </form>
    </Block>
  </SettingsLayout>
)

/** Says when a key expires for which no day is chosen, and which days can be chosen. */
const formatExpiry = (endsAt: number | null): string =>
  endsAt === null
    ? 'Without a day, the key does not expire.'
    : `Without a day, the key expires on ${formatDay(endsAt)}, when this session ends. A later day is not possible.`

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
