import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, requireSession, requireViewer, toActor } from '../../hub/http/page-entry'
import { saveNotificationSettings } from '../../hub/inbox/notification-actions'
import { selectOwnSettings } from '../../hub/inbox/notification-queries'
import {
  type Channel,
  channelLabels,
  channels,
  channelsOf,
  choiceKinds,
  choiceLabels,
  defaultSettings,
  formatMinute,
  hasChannel,
  type NotificationSettings,
  notificationInput,
} from '../../hub/inbox/notification-settings'
import {
  addDevice,
  addDeviceInput,
  findQuietEnd,
  removeDevice,
  sendTest,
} from '../../hub/inbox/push-actions'
import { type OwnDevice, selectOwnDevices } from '../../hub/inbox/push-queries'
import { deleteAddress, setAddress } from '../../hub/mail/actions'
import { addressInput } from '../../hub/mail/addresses'
import { type OwnMail, selectOwnMail } from '../../hub/mail/queries'
import { describeDevice } from '../../hub/sign-in/actions'
import { createFeedToken, removeFeedToken } from '../../hub/sign-in/key-actions'
import { selectOwnFeedToken } from '../../hub/sign-in/key-queries'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  invalidText,
  isChecked,
  readFormWith,
  rejectForm,
  toCheckboxText,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { FormKey, readForm, runFormOnce } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { RelativeTime, TimeUntil } from '../parts/times'
import {
  assertSignedIn,
  requireCredential,
  requireReadingSender,
  SettingsLayout,
  settingsPage,
} from './settings'

const path = '/settings/notifications'

/** Registers `/settings/notifications`: the viewer's browsers, what they are notified of, and the address of feeds. */
export function registerNotificationSettings(app: Hono<HubEnv>): void {
  app.get(path, settingsPage(showNotifications))
  app.post(path, page(saveWanted))
  app.post(`${path}/devices`, page(sendDevice))
  app.post(
    `${path}/devices/delete`,
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await removeDevice(c.var.context, viewer.id, (await readForm(c))('id'))
      return c.redirect(path, 303)
    }),
  )
  app.post(
    `${path}/devices/test`,
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      const id = (await readForm(c))('id')
      await sendTest(c.var.context, viewer.id, id)
      return c.redirect(`${path}?tested=${encodeURIComponent(id)}`, 303)
    }),
  )
  registerMailSection(app, showNotifications)
  app.post('/settings/feed-token', page(addFeedToken))
  app.post(
    '/settings/feed-token/delete',
    page(async (c) => {
      const viewer = await requireViewer(c, 'write')
      await removeFeedToken(c.var.context, viewer.id)
      return c.redirect(path, 303)
    }),
  )
}

/** Makes the address of feeds and shows it in the response: a redirect would put it into the browser's history. */
async function addFeedToken(c: PageContext): Promise<Response> {
  const viewer = await requireReadingSender(c)
  const feedToken = await createFeedToken(c.var.context, toActor(viewer, null))
  return showNotifications(c, { feedToken })
}

async function saveWanted(c: PageContext): Promise<Response> {
  const read = readFormWith(notificationInput, await readForm(c), wantedForm)
  try {
    const viewer = await requireViewer(c, 'write')
    if (!read.isValid) return showNotifications(c, { wanted: read.form }, 400)
    await saveNotificationSettings(c.var.context, viewer.id, read.value)
    return c.redirect(path, 303)
  } catch (error) {
    const { form, status } = rejectForm(wantedForm, read.form, error)
    return showNotifications(c, { wanted: form }, status)
  }
}

async function sendDevice(c: PageContext): Promise<Response> {
  const read = readFormWith(addDeviceInput, await readForm(c), deviceForm)
  try {
    const viewer = await requireViewer(c, 'write')
    if (!read.isValid) return showNotifications(c, { device: read.form }, 400)
    await addDevice(c.var.context, viewer, read.value)
    return c.redirect(path, 303)
  } catch (error) {
    const { form, status } = rejectForm(deviceForm, read.form, error)
    return showNotifications(c, { device: form }, status)
  }
}

function toWantedForm(settings: NotificationSettings): WantedFormState {
  const { choices, quietFrom, quietTo, timezone, digestHour } = settings
  const boxes = choiceFields.map(({ name, kind, channel }) => [
    name,
    toCheckboxText(choices[kind].some((each) => each === channel)),
  ])
  return createForm({
    ...(Object.fromEntries(boxes) as Record<ChoiceField, string>),
    quiet_from: quietFrom === null ? '' : formatMinute(quietFrom),
    quiet_to: quietTo === null ? '' : formatMinute(quietTo),
    digest_hour: String(digestHour),
    timezone,
  })
}

/** @param forms those that were rejected, and the token of the address of feeds that was just made */
async function showNotifications(
  c: PageContext,
  forms: {
    wanted?: WantedFormState
    device?: DeviceFormState
    feedToken?: string
    mail?: MailForms
  } = {},
  status = 200,
): Promise<Response> {
  const credential = await requireCredential(c)
  const { clock, push, mail } = c.var.context
  const { frame, answers } = await readPage(c, {
    devices: selectOwnDevices(credential, clock.now()),
    stored: selectOwnSettings(credential, clock.now()),
    feed: selectOwnFeedToken(credential, clock.now()),
    ownMail: mail.problem === null ? selectOwnMail(credential, clock.now()) : null,
  })
  assertSignedIn(frame)
  const settings = answers.stored ?? defaultSettings
  const label = describeDevice(c.req.header('user-agent'))
  const props = {
    frame,
    devices: answers.devices,
    settings,
    isUnset: answers.stored === undefined,
    serverKey: await push.readPublicKey(),
    wanted: forms.wanted ?? toWantedForm(settings),
    device: forms.device ?? createForm({ label, subscription: '' }),
    tested: c.req.query('tested') ?? null,
    // Without a mail server nothing is shown of mail.
    mail:
      mail.problem === null ? { own: answers.ownMail ?? undefined, forms: forms.mail ?? {} } : null,
    digestAt: answers.stored?.digestAt ?? null,
    feedSince: answers.feed?.createdAt ?? null,
    feedUrl: forms.feedToken ? `${c.var.origin}/feed.atom?token=${forms.feedToken}` : null,
  }
  return sendPage(c, <NotificationsPage {...props} />, status)
}

type ChoiceKind = (typeof choiceKinds)[number]
type ChoiceField = `${ChoiceKind}_${Channel}`
type WantedField = ChoiceField | 'quiet_from' | 'quiet_to' | 'digest_hour' | 'timezone'
type WantedFormState = FormState<WantedField>

/** The boxes of the form: one for each channel that a kind can have. */
const choiceFields = choiceKinds.flatMap((kind) =>
  channelsOf(kind).map((channel) => ({
    name: `${kind}_${channel}` satisfies ChoiceField as ChoiceField,
    kind,
    channel,
  })),
)

type DeviceField = 'label' | 'subscription'
type DeviceFormState = FormState<DeviceField>

const time = { parse: (text: string) => (text === '' ? null : text.slice(0, 5)) }

/** The first box of each kind stands for the list of its channels. */
const choiceFormFields = Object.fromEntries(
  choiceFields.map(({ name, kind, channel }) => [
    name,
    {
      path: channel === channelsOf(kind)[0] ? kind : null,
      parse: (_: string, typed: Record<WantedField, string>) =>
        channelsOf(kind).filter((each) => isChecked(typed[`${kind}_${each}`])),
    },
  ]),
) as FormDefinition<WantedField>['fields']

const wantedForm: FormDefinition<WantedField> = {
  rejected: 'Your choices were not saved.',
  fields: {
    ...choiceFormFields,
    quiet_from: time,
    quiet_to: time,
    digest_hour: { parse: (text) => (/^\d{1,2}$/.test(text) ? Number(text) : invalidText) },
    timezone: {},
  },
}

const deviceForm: FormDefinition<DeviceField> = {
  rejected: 'This browser was not added.',
  fields: {
    label: { message: 'A name must have 1 to 60 characters.' },
    subscription: { path: 'subscription', message: 'The browser gave no usable subscription.' },
  },
}

interface NotificationsProps {
  frame: Frame
  devices: readonly OwnDevice[]
  settings: NotificationSettings
  /** Nothing was chosen yet, so the browser suggests its time zone. */
  isUnset: boolean
  /** The hub's key for browsers; null: it cannot send. */
  serverKey: string | null
  wanted: WantedFormState
  device: DeviceFormState
  /** The device that a test was just sent to. */
  tested: string | null
  /** Null: the hub sends no mail. */
  mail: { own: OwnMail | undefined; forms: MailForms } | null
  /** When the next digest is due; null: nothing is chosen for it. */
  digestAt: number | null
  /** When the address of feeds was made; null without one. */
  feedSince: number | null
  /** The address of the hub's feed, when it was just made. */
  feedUrl: string | null
}

const NotificationsPage: FC<NotificationsProps> = (props) => (
  <SettingsLayout
    frame={props.frame}
    tab="notifications"
    title="Notifications"
    scripts={props.feedUrl === null ? ['push'] : ['push', 'copy']}
  >
    <Problems {...props} />
    <Wanted {...props} />
    <Devices {...props} />
    {props.mail && <MailSection now={props.frame.now} {...props.mail} />}
    <Feeds {...props} />
  </SettingsLayout>
)

/** Lists what keeps notifications from arriving; the script adds what only the browser knows. */
const Problems: FC<NotificationsProps> = (props) => {
  const problems = findProblems(props)
  return (
    <section class="block" hidden={problems.length === 0}>
      <h2>Problems</h2>
      <ul class="up3" data-push-problems>
        {problems.map((problem) => (
          <li>{problem}</li>
        ))}
      </ul>
    </section>
  )
}

function findProblems(props: NotificationsProps): string[] {
  const { settings, mail } = props
  const isAnyChosen = channels.some((channel) => hasChannel(settings.choices, channel))
  const hasMail =
    mail !== null &&
    (['mail', 'digest'] as const).some((each) => hasChannel(settings.choices, each))
  return [
    ...(isAnyChosen ? [] : ['Nothing is chosen to be notified of.']),
    ...(hasChannel(settings.choices, 'push') ? findPushProblems(props) : []),
    ...(hasMail ? findMailProblems(mail.own) : []),
  ]
}

function findPushProblems({ frame, devices, settings, serverKey }: NotificationsProps): string[] {
  if (serverKey === null) {
    return ['This hub cannot send push messages. Its operator has to set ROOKERY_VAULT_KEY.']
  }
  const problems: string[] = []
  if (devices.length === 0) problems.push('No browser was added yet.')
  if (findQuietEnd(settings, frame.now) !== null) problems.push('It is within your quiet hours.')
  for (const { label, failure, serverKey: own } of devices) {
    if (own !== serverKey) problems.push(`${label}: the key of this hub has changed. Add it again.`)
    else if (failure !== null) problems.push(`${label}: ${failure}`)
  }
  return problems
}

function findMailProblems(own: OwnMail | undefined): string[] {
  if (!own) return ['Mail is chosen, and no mail address was entered yet.']
  if (own.confirmedAt === null) return [`${own.address} is not confirmed yet.`]
  return own.stoppedAt === null ? [] : [`Mail to ${own.address} was stopped.`]
}

const Devices: FC<NotificationsProps> = ({ frame, devices, serverKey, device, tested }) => (
  <Block title="Browsers">
    <p class="lede">
      Notifications go to these browsers, also while the hub is not open. Signing out of a browser
      removes it.
    </p>
    <ul class="list up4">
      {devices.map(({ id, label, createdAt, lastSentAt }) => (
        <li>
          <div>
            <strong>{label}</strong>
            <p class="meta">
              Added <RelativeTime at={createdAt} now={frame.now} />
              {lastSentAt !== null && (
                <>
                  , last notified <RelativeTime at={lastSentAt} now={frame.now} />
                </>
              )}
            </p>
            {id === tested && <p role="status">The test was sent.</p>}
          </div>
          <div class="acts">
            <DeviceButton action="test" id={id} text="Send a test" label={label} />
            <DeviceButton action="delete" id={id} text="Delete" label={label} />
          </div>
        </li>
      ))}
    </ul>
    <div class="up4">
      <ErrorSummary problem={device.problem} />
      {serverKey !== null && (
        <form
          class="form"
          method="post"
          action="/settings/notifications/devices"
          data-push-key={serverKey}
          hidden
        >
          <input type="hidden" name="subscription" value="" />
          <Field form={device} name="label" label="Name" required maxlength={60} />
          <div>
            <Submit isMain>Add this browser</Submit>
            <p class="bad" role="status" data-message />
          </div>
        </form>
      )}
      <noscript>
        <p class="meta">Adding a browser requires JavaScript.</p>
      </noscript>
    </div>
  </Block>
)

const DeviceButton: FC<{ action: 'test' | 'delete'; id: string; text: string; label: string }> = (
  props,
) => (
  <form method="post" action={`/settings/notifications/devices/${props.action}`}>
    <input type="hidden" name="id" value={props.id} />
    <Submit>
      {props.text}
      <span class="vh"> {props.label}</span>
    </Submit>
  </form>
)

const hours = Array.from({ length: 24 }, (_, hour): [string, string] => [
  String(hour),
  formatMinute(hour * 60),
])

const Wanted: FC<NotificationsProps> = (props) => {
  const { frame, wanted, isUnset, mail, digestAt } = props
  return (
    <Block title="What you are notified of">
      <p class="lede">What has no mark is in your inbox only.</p>
      <div class="up4">
        <ErrorSummary problem={wanted.problem} />
        <form class="form" method="post" action="/settings/notifications">
          <Choices form={wanted} shown={mail === null ? ['push'] : channels} />
          <Field form={wanted} name="quiet_from" type="time" label="Quiet hours from" />
          <Field
            form={wanted}
            name="quiet_to"
            type="time"
            label="Quiet hours to"
            hint="Push messages wait until the quiet hours end. Leave both empty for none."
          />
          {mail === null ? (
            <input type="hidden" name="digest_hour" value={wanted.typed.digest_hour} />
          ) : (
            <Field form={wanted} as="select" name="digest_hour" label="Digest at" options={hours} />
          )}
          {mail !== null && digestAt !== null && (
            <p class="meta">
              The next digest is due <TimeUntil at={digestAt} now={frame.now} />. It is sent when it
              has something new.
            </p>
          )}
          <Field
            form={wanted}
            name="timezone"
            label="Time zone"
            maxlength={60}
            {...(isUnset && { 'data-is-unset': '' })}
          />
          <div>
            <Submit isMain>Save</Submit>
          </div>
        </form>
      </div>
    </Block>
  )
}

/** @param props.shown the others keep what was chosen */
const Choices: FC<{ form: WantedFormState; shown: readonly Channel[] }> = ({ form, shown }) => (
  <>
    <table class="tbl">
      <thead>
        <tr>
          <th scope="col">Notification</th>
          {shown.map((channel) => (
            <th scope="col" class="r">
              {channelLabels[channel]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {choiceKinds
          .filter((kind) => channelsOf(kind).some((channel) => shown.includes(channel)))
          .map((kind) => (
            <tr>
              <th scope="row">{choiceLabels[kind]}</th>
              {shown.map((channel) => (
                <td class="r">
                  {channelsOf(kind).includes(channel) && (
                    <input
                      type="checkbox"
                      name={`${kind}_${channel}`}
                      aria-label={`${choiceLabels[kind]}: ${channelLabels[channel]}`}
                      checked={isChecked(form.typed[`${kind}_${channel}`])}
                    />
                  )}
                </td>
              ))}
            </tr>
          ))}
      </tbody>
    </table>
    {choiceFields
      .filter(({ name, channel }) => !shown.includes(channel) && isChecked(form.typed[name]))
      .map(({ name }) => (
        <input type="hidden" name={name} value="on" />
      ))}
  </>
)

const Feeds: FC<NotificationsProps> = ({ frame, feedSince, feedUrl }) => (
  <Block title="Feeds">
    <p class="lede">
      A feed reader follows the hub, a community, an account or a thread: add <code>.atom</code> to
      the address of its page. It sees what everybody sees; with an address of your own it sees what
      you see.
    </p>
    {feedUrl !== null && (
      <div role="status">
        <p class="up4">
          <strong>Copy the address now.</strong> It is shown only once. Its token works at every
          feed, and only reads.
        </p>
        <p class="code up3" data-copy="address">
          {feedUrl}
        </p>
      </div>
    )}
    {feedSince !== null && (
      <p class="meta up4">
        Your address was made <RelativeTime at={feedSince} now={frame.now} />. A new one takes its
        place.
      </p>
    )}
    <div class="acts up4">
      <form method="post" action="/settings/feed-token">
        <Submit>{feedSince === null ? 'Make an address' : 'Make a new address'}</Submit>
      </form>
      {feedSince !== null && (
        <form method="post" action="/settings/feed-token/delete">
          <Submit>Delete the address</Submit>
        </form>
      )}
    </div>
  </Block>
)

const mailPath = '/settings/notifications/mail'
const sectionPath = '/settings/notifications#mail'

/** Forms of mail that were rejected. */
interface MailForms {
  address?: AddressFormState
}

type Show = (c: PageContext, forms: { mail: MailForms }, status: number) => Promise<Response>

/** Registers the forms of mail. @param show renders the page of the section with forms that were rejected */
function registerMailSection(app: Hono<HubEnv>, show: Show): void {
  app.post(
    mailPath,
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
    `${mailPath}/delete`,
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
const MailSection: FC<MailSectionProps> = ({ now, own, forms }) => {
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
        <form class="form" method="post" action={mailPath}>
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
    <form class="up3" method="post" action={`${mailPath}/delete`}>
      <Submit>Delete the address</Submit>
    </form>
  </div>
)
