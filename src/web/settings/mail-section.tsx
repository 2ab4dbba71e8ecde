import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, requireSession, requireViewer } from '../../hub/http/page-entry'
import { type PushKind, pushKindLabels } from '../../hub/inbox/push-actions'
import {
  deleteAddress,
  type MailMode,
  mailChoicesInput,
  saveMailChoices,
  setAddress,
} from '../../hub/mail/actions'
import { addressInput } from '../../hub/mail/addresses'
import type { OwnMail } from '../../hub/mail/queries'
import { ErrorSummary, Field } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import { FormKey, readForm, runFormOnce } from '../frame/read-form'
import { type PageContext, page } from '../frame/send-page'
import { RelativeTime, TimeUntil } from '../parts/times'

const path = '/settings/notifications/mail'
const sectionPath = '/settings/notifications#mail'

/** Forms of mail that were rejected. */
export interface MailForms {
  address?: AddressFormState
  choices?: ChoicesFormState
}

type Show = (c: PageContext, forms: { mail: MailForms }, status: number) => Promise<Response>

/** Registers the forms of mail. @param show renders the page of the section with forms that were rejected */
export function registerMailSection(app: Hono<HubEnv>, show: Show): void {
  app.post(
    path,
    page(async (c) => {
      const read = readFormWith(addressInput, await readForm(c), addressForm)
      try {
        const { viewer, sessionId } = await requireSession(c)
        if (!read.isValid) return show(c, { mail: { address: read.form } }, 400)
        const { address } = read.value
        await runFormOnce(c, viewer, 'mail.address', async () => {
          await setAddress(c.var.context, { id: viewer.id, sessionId }, address)
          return { address: address.address }
        })
        return c.redirect(sectionPath, 303)
      } catch (error) {
        const { form, status } = rejectForm(addressForm, read.form, error)
        return show(c, { mail: { address: form } }, status)
      }
    }),
  )
  app.post(
    `${path}/delete`,
    page(async (c) => {
      const { viewer, sessionId } = await requireSession(c)
      await deleteAddress(c.var.context, { id: viewer.id, sessionId })
      return c.redirect(sectionPath, 303)
    }),
  )
  app.post(
    `${path}/choices`,
    page(async (c) => {
      const read = readFormWith(mailChoicesInput, await readForm(c), choicesForm)
      try {
        const viewer = await requireViewer(c, 'write')
        if (!read.isValid) return show(c, { mail: { choices: read.form } }, 400)
        await saveMailChoices(c.var.context, viewer.id, read.value)
        return c.redirect(sectionPath, 303)
      } catch (error) {
        const { form, status } = rejectForm(choicesForm, read.form, error)
        return show(c, { mail: { choices: form } }, status)
      }
    }),
  )
}

type AddressFormState = FormState<'address'>
type ModeField = `mail_${PushKind}`
type ChoicesField = ModeField | 'digest_hour' | 'digest_timezone'
type ChoicesFormState = FormState<ChoicesField>

const addressForm: FormDefinition<'address'> = {
  rejected: 'The address was not saved.',
  fields: { address: { message: 'Enter a mail address, such as ana@example.com.' } },
}

const choicesForm: FormDefinition<ChoicesField> = {
  rejected: 'Your choices were not saved.',
  fields: {
    mail_mention: {},
    mail_dm: {},
    mail_approval: {},
    mail_run: {},
    digest_hour: {},
    digest_timezone: {},
  },
}

const modeLabels: Record<MailMode, string> = {
  mail: 'Mail at once',
  digest: 'In the digest',
  off: 'No mail',
}

const hours = Array.from({ length: 24 }, (_, hour): [string, string] => [
  String(hour),
  `${String(hour).padStart(2, '0')}:00`,
])

function toChoicesForm({ kinds, digestKinds, digestHour, timezone }: OwnMail): ChoicesFormState {
  const toMode = (kind: PushKind): MailMode => {
    if (kinds.includes(kind)) return 'mail'
    return digestKinds.includes(kind) ? 'digest' : 'off'
  }
  return createForm({
    mail_mention: toMode('mention'),
    mail_dm: toMode('dm'),
    mail_approval: toMode('approval'),
    mail_run: toMode('run'),
    digest_hour: String(digestHour),
    digest_timezone: timezone,
  })
}

interface MailSectionProps {
  now: number
  /** Undefined: the account has no address. */
  own: OwnMail | undefined
  forms: MailForms
}

/** The address that the account is mailed at, and what it is mailed. */
export const MailSection: FC<MailSectionProps> = ({ now, own, forms }) => {
  const address = forms.address ?? createForm({ address: '' })
  return (
    <section class="block" id="mail">
      <h2>Mail</h2>
      {own ? (
        <OwnAddress own={own} now={now} />
      ) : (
        <p class="lede">
          With a mail address you can be notified by mail, and sign in with a link that is sent to
          it.
        </p>
      )}
      <div class="up4">
        <ErrorSummary problem={address.problem} />
        <form class="form" method="post" action={path}>
          <FormKey />
          <Field
            form={address}
            name="address"
            type="email"
            label={own ? 'Another address' : 'Mail address'}
            required
            autocomplete="email"
            hint={
              own
                ? 'A link is sent to it, which confirms it. It replaces the one above at once.'
                : 'A link is sent to it, which confirms it.'
            }
          />
          <div>
            <button class="btn" type="submit">
              Send the link
            </button>
          </div>
        </form>
      </div>
      {own && own.confirmedAt !== null && (
        <Choices form={forms.choices ?? toChoicesForm(own)} digestAt={own.digestAt} now={now} />
      )}
    </section>
  )
}

const OwnAddress: FC<{ own: OwnMail; now: number }> = ({ own, now }) => (
  <div>
    <p class="lede">
      <strong>{own.address}</strong>{' '}
      {own.confirmedAt === null ? (
        'is not confirmed yet: open the link that was sent to it.'
      ) : (
        <>
          confirmed <RelativeTime at={own.confirmedAt} now={now} />
        </>
      )}
    </p>
    {own.stoppedAt !== null && (
      <div class="wrong up3">
        <strong>
          Mail to it was stopped <RelativeTime at={own.stoppedAt} now={now} />.
        </strong>
        <p>{own.reason} Enter an address that works, or the same one once it does.</p>
      </div>
    )}
    <form class="up3" method="post" action={`${path}/delete`}>
      <button class="btn" type="submit">
        Delete the address
      </button>
    </form>
  </div>
)

const Choices: FC<{ form: ChoicesFormState; digestAt: number | null; now: number }> = (props) => {
  const { form, digestAt, now } = props
  const kinds = Object.keys(pushKindLabels) as PushKind[]
  return (
    <div class="up5">
      <h3>What is mailed</h3>
      <ErrorSummary problem={form.problem} />
      <form class="form up3" method="post" action={`${path}/choices`}>
        {kinds.map((kind) => (
          <Field
            form={form}
            as="select"
            name={`mail_${kind}`}
            label={pushKindLabels[kind]}
            options={modeLabels}
          />
        ))}
        <Field form={form} as="select" name="digest_hour" label="Digest at" options={hours} />
        <Field form={form} name="digest_timezone" label="Time zone of the digest" maxlength={60} />
        {digestAt !== null && (
          <p class="meta">
            The next digest is due <TimeUntil at={digestAt} now={now} />. It is sent when something
            is unread.
          </p>
        )}
        <div>
          <button class="btn go" type="submit">
            Save what is mailed
          </button>
        </div>
      </form>
    </div>
  )
}
