import * as z from 'zod'
import { pushLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { readOffsets } from '../../shared/local-time'
import { shownText } from '../../shared/texts'
import type { ActionContext } from '../action-context'
import { pushKinds } from '../schema/push'
import { guardAccess } from '../viewers/guard-access-queries'
import {
  deleteDevice,
  deleteOwnDevice,
  insertDevice,
  type PushSettings,
  selectDevice,
  upsertPushSettings,
} from './device-queries'
import { pushErrors } from './errors'
import { sendPushes } from './send-pushes'

/** What holds until an account chooses: everything, at any hour. */
export const defaultPushSettings: PushSettings = {
  kinds: [...pushKinds],
  quietFrom: null,
  quietTo: null,
  timezone: 'UTC',
}

const isTimezone = (name: string): boolean => {
  try {
    readOffsets(name)
    return true
  } catch {
    return false
  }
}

const minuteOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Must be a time, such as 22:00')
  .transform((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)))

/** The form of what an account wants to be reached for. Quiet hours have both ends or none. */
export const pushSettingsInput = z
  .object({
    mention: z.boolean(),
    dm: z.boolean(),
    approval: z.boolean(),
    run: z.boolean(),
    quiet_from: minuteOfDay.nullable(),
    quiet_to: minuteOfDay.nullable(),
    timezone: z.string().max(60).refine(isTimezone, 'Must be a time zone such as Europe/Berlin'),
  })
  .refine((input) => (input.quiet_from === null) === (input.quiet_to === null), {
    path: ['quiet_to'],
    message: 'Quiet hours must have a start and an end',
  })
  .transform(
    (input): PushSettings => ({
      kinds: pushKinds.filter((kind) => input[kind]),
      quietFrom: input.quiet_from,
      quietTo: input.quiet_to,
      timezone: input.timezone,
    }),
  )

const parseJson = (text: string, context: z.RefinementCtx): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    context.addIssue({ code: 'custom', message: 'Must be the subscription of a browser.' })
    return z.NEVER
  }
}

const base64url = (charsMin: number, charsMax: number) =>
  z
    .string()
    .min(charsMin)
    .max(charsMax)
    .regex(/^[\w-]+=*$/)

/** The form that adds a browser: its `PushSubscription.toJSON()`. */
export const addDeviceInput = z.object({
  label: shownText.max(60),
  subscription: z
    .string()
    .max(5_000)
    .transform(parseJson)
    .pipe(
      z.object({
        endpoint: z.url({ protocol: /^https$/ }).max(pushLimits.endpointCharsMax),
        keys: z.object({ p256dh: base64url(80, 100), auth: base64url(16, 30) }),
      }),
    ),
})

/** The account of a request, and the id of its session. */
interface Requester {
  id: AccountId
  keyId: string | null
}

/**
 * Adds a browser to an account. It gets messages until it is deleted or the session ends.
 *
 * @throws UNAVAILABLE without a vault key, CONFLICT for one device too many or without a session
 */
export async function addDevice(
  context: ActionContext,
  { id: accountId, keyId }: Requester,
  { label, subscription }: z.output<typeof addDeviceInput>,
): Promise<void> {
  const { db, clock, push } = context
  const serverKey = await push.readPublicKey()
  if (serverKey === null) throw pushErrors.noKey()
  const device = {
    id: clock.newId<string>(),
    accountId,
    sessionId: keyId ?? '',
    label,
    serverKey,
    endpoint: subscription.endpoint,
    ...subscription.keys,
    createdAt: clock.now(),
  }
  const { isAdded } = await batch(db, {
    guard: await guardAccess(context, keyId),
    isAdded: insertDevice(device),
  })
  if (!isAdded) throw pushErrors.notAdded()
}

/** @throws NOT_FOUND when the account has no such device */
export async function removeDevice(
  { db }: ActionContext,
  accountId: AccountId,
  id: string,
): Promise<void> {
  if (!(await run(db, deleteOwnDevice(accountId, id)))) throw pushErrors.notFound()
}

/** Stores what an account wants to be reached for. */
export const savePushSettings = (
  { db }: ActionContext,
  accountId: AccountId,
  settings: z.output<typeof pushSettingsInput>,
): Promise<void> => run(db, upsertPushSettings(accountId, settings))

/**
 * Sends a test to a device at once, also in quiet hours.
 *
 * @throws NOT_FOUND, CONFLICT when the browser no longer accepts messages, UNAVAILABLE when sending failed
 */
export async function sendTest(
  { db, push, settings }: ActionContext,
  accountId: AccountId,
  id: string,
): Promise<void> {
  const device = await run(db, selectDevice(accountId, id))
  if (!device) throw pushErrors.notFound()
  const result = await push.send(device, {
    title: settings.ROOKERY_NAME,
    body: 'This is a test. Notifications reach this device.',
    path: '/settings/notifications',
    tag: 'test',
  })
  if (result.kind === 'sent') return
  if (result.kind === 'failed') throw pushErrors.notSent(result.reason)
  if (result.kind === 'refused') throw pushErrors.refused(result.reason)
  await run(db, deleteDevice({ id }))
  throw pushErrors.gone()
}

/** Sends what a write has queued, after its answer; what fails is tried again by the sweep. */
export function deferPushes(context: ActionContext, isQueued: boolean | undefined): void {
  if (!isQueued) return
  const send = async () => {
    const nextAt = await sendPushes(context)
    if (nextAt !== null) await context.scheduler.sweepAt(nextAt)
  }
  context.defer(send())
}
