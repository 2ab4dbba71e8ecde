import type { FC } from 'hono/jsx'
import type { OwnDevice, PushSettings } from '../../hub/push/device-queries'
import { type PushKind, pushKindLabels } from '../../hub/push/push-labels'
import { findQuietEnd } from '../../hub/push/quiet-hours'
import { Checkbox } from '../form/checkbox'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { type FormDefinition, type FormState, isChecked } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { RelativeTime } from '../parts/relative-time'
import { SettingsLayout } from './settings-layout'

type WantedField = PushKind | 'quiet_from' | 'quiet_to' | 'timezone'
export type WantedFormState = FormState<WantedField>
type DeviceField = 'label' | 'subscription'
export type DeviceFormState = FormState<DeviceField>

const checkbox = { parse: isChecked }
const time = { parse: (text: string) => (text === '' ? null : text.slice(0, 5)) }

export const wantedForm: FormDefinition<WantedField> = {
  rejected: 'Your choices were not saved.',
  fields: {
    mention: checkbox,
    dm: checkbox,
    approval: checkbox,
    run: checkbox,
    quiet_from: time,
    quiet_to: time,
    timezone: {},
  },
}

export const deviceForm: FormDefinition<DeviceField> = {
  rejected: 'This browser was not added.',
  fields: {
    label: { message: 'A name must have 1 to 60 characters.' },
    subscription: { path: 'subscription', message: 'The browser gave no usable subscription.' },
  },
}

const wantedKinds = Object.keys(pushKindLabels) as PushKind[]

interface NotificationsProps {
  frame: Frame
  devices: readonly OwnDevice[]
  settings: PushSettings
  /** Nothing was chosen yet, so the browser suggests its time zone. */
  isUnset: boolean
  /** The hub's key for browsers; null: it cannot send. */
  serverKey: string | null
  wanted: WantedFormState
  device: DeviceFormState
  /** The device that a test was just sent to. */
  tested: string | null
}

export const NotificationsPage: FC<NotificationsProps> = (props) => (
  <SettingsLayout frame={props.frame} tab="notifications" title="Notifications" scripts={['push']}>
    <Problems {...props} />
    <Devices {...props} />
    <Wanted {...props} />
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

function findProblems({ frame, devices, settings, serverKey }: NotificationsProps): string[] {
  if (serverKey === null)
    return ['This hub cannot send. Its operator has to set ROOKERY_VAULT_KEY.']
  const problems: string[] = []
  if (devices.length === 0) problems.push('No browser was added yet.')
  if (settings.kinds.length === 0) problems.push('Nothing is chosen to be notified of.')
  if (findQuietEnd(settings, frame.now) !== null) problems.push('It is within your quiet hours.')
  for (const { label, failure, serverKey: own } of devices) {
    if (own !== serverKey) problems.push(`${label}: the key of this hub has changed. Add it again.`)
    else if (failure !== null) problems.push(`${label}: ${failure}`)
  }
  return problems
}

const Devices: FC<NotificationsProps> = ({ frame, devices, serverKey, device, tested }) => (
  <section class="block">
    <h2>Browsers</h2>
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
            <button class="btn go" type="submit">
              Add this browser
            </button>
            <p class="bad" role="status" data-message />
          </div>
        </form>
      )}
      <noscript>
        <p class="meta">Adding a browser requires JavaScript.</p>
      </noscript>
    </div>
  </section>
)

const DeviceButton: FC<{ action: 'test' | 'delete'; id: string; text: string; label: string }> = (
  props,
) => (
  <form method="post" action={`/settings/notifications/devices/${props.action}`}>
    <input type="hidden" name="id" value={props.id} />
    <button class="btn" type="submit">
      {props.text}
      <span class="vh"> {props.label}</span>
    </button>
  </form>
)

const Wanted: FC<NotificationsProps> = ({ wanted, isUnset }) => (
  <section class="block">
    <h2>Notify me of</h2>
    <div class="up4">
      <ErrorSummary problem={wanted.problem} />
      <form class="form" method="post" action="/settings/notifications">
        {wantedKinds.map((kind) => (
          <Checkbox form={wanted} name={kind} label={pushKindLabels[kind]} />
        ))}
        <Field form={wanted} name="quiet_from" type="time" label="Quiet hours from" />
        <Field
          form={wanted}
          name="quiet_to"
          type="time"
          label="Quiet hours to"
          hint="Notifications wait until the quiet hours end. Leave both empty for none."
        />
        <Field
          form={wanted}
          name="timezone"
          label="Time zone"
          maxlength={60}
          {...(isUnset && { 'data-is-unset': '' })}
        />
        <div>
          <button class="btn go" type="submit">
            Save
          </button>
        </div>
      </form>
    </div>
  </section>
)
