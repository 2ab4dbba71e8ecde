import type { Hono } from 'hono'
import { type HubEnv, requireViewer } from '../../hub/http/page-entry'
import {
  addDevice,
  addDeviceInput,
  defaultPushSettings,
  pushSettingsInput,
  removeDevice,
  savePushSettings,
  sendTest,
} from '../../hub/push/actions'
import {
  type PushSettings,
  selectOwnDevices,
  selectOwnPushSettings,
} from '../../hub/push/device-queries'
import type { PushKind } from '../../hub/push/push-labels'
import { describeDevice } from '../../hub/sign-in/describe-device'
import { createForm, toCheckboxText } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import {
  type DeviceFormState,
  deviceForm,
  NotificationsPage,
  type WantedFormState,
  wantedForm,
} from './notifications-page'
import { assertSignedIn, requireCredential, settingsPage } from './require-sign-in'

const path = '/settings/notifications'

/** Registers `/settings/notifications`: the browsers of the viewer, and what they are notified of. */
export function registerNotificationSettings(app: Hono<HubEnv>): void {
  app.get(
    path,
    settingsPage((c) => showNotifications(c, {})),
  )
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
}

async function saveWanted(c: PageContext): Promise<Response> {
  const read = readFormWith(pushSettingsInput, await readForm(c), wantedForm)
  try {
    const viewer = await requireViewer(c, 'write')
    if (!read.isValid) return showNotifications(c, { wanted: read.form }, 400)
    await savePushSettings(c.var.context, viewer.id, read.value)
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

const formatMinute = (minute: number | null): string =>
  minute === null
    ? ''
    : [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')

function toWantedForm({ kinds, quietFrom, quietTo, timezone }: PushSettings): WantedFormState {
  const toText = (kind: PushKind) => toCheckboxText(kinds.includes(kind))
  return createForm({
    mention: toText('mention'),
    dm: toText('dm'),
    approval: toText('approval'),
    run: toText('run'),
    quiet_from: formatMinute(quietFrom),
    quiet_to: formatMinute(quietTo),
    timezone,
  })
}

/** @param forms those that were rejected */
async function showNotifications(
  c: PageContext,
  forms: { wanted?: WantedFormState; device?: DeviceFormState },
  status = 200,
): Promise<Response> {
  const credential = await requireCredential(c)
  const { clock, push } = c.var.context
  const { frame, answers } = await readPage(c, {
    devices: selectOwnDevices(credential, clock.now()),
    stored: selectOwnPushSettings(credential, clock.now()),
  })
  assertSignedIn(frame)
  const settings = answers.stored ?? defaultPushSettings
  const label = describeDevice(c.req.header('user-agent'))
  const props = {
    ...{ frame, devices: answers.devices, settings, isUnset: answers.stored === undefined },
    serverKey: await push.readPublicKey(),
    wanted: forms.wanted ?? toWantedForm(settings),
    device: forms.device ?? createForm({ label, subscription: '' }),
    tested: c.req.query('tested') ?? null,
  }
  return sendPage(c, <NotificationsPage {...props} />, status)
}
