import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, requireSession } from '../../hub/http/page-entry'
import { deleteAddress, setAddress } from '../../hub/mail/actions'
import { addressInput } from '../../hub/mail/addresses'
import type { OwnMail } from '../../hub/mail/queries'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import { FormKey, readForm, runFormOnce } from '../frame/read-form'
import { type PageContext, page } from '../frame/send-page'
import { RelativeTime } from '../parts/times'

const path = '/settings/notifications/mail'
const sectionPath = '/settings/notifications#mail'

/** Forms of mail that were rejected. */
export interface MailForms {
  address?: AddressFormState
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
}

type AddressFormState = FormState<'address'>
const addressForm: FormDefinition<'address'> = {
  rejected: 'The address was not saved.',
  fields: { address: { message: 'Enter a mail address, such as ana@example.com.' } },
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
            <Submit>Send the link</Submit>
          </div>
        </form>
      </div>
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
      <Submit>Delete the address</Submit>
    </form>
  </div>
)
