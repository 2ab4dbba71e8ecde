import * as z from 'zod'
import { boundWait } from '../../shared/bounded-wait'
import { pushLimits } from '../../shared/config'
import { shortenText } from '../../shared/cut-text'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { findFirst, readOffsets } from '../../shared/local-time'
import { commentPath, postPath } from '../../shared/paths'
import { shownText } from '../../shared/texts'
import type { PushMessage, PushResult } from '../contract/push'
import type { ActionContext } from '../database/action-context'
import type { NotificationKind } from '../schema/inbox'
import { guardAccess, hashAdminKey } from '../viewers/queries'
import {
  claimDue,
  type DueAtDevice,
  type DueMessage,
  deleteClaimed,
  deleteDevice,
  deleteOwnDevice,
  insertDevice,
  postpone,
  recordSent,
  selectClaimed,
  selectDevice,
  selectNextDue,
} from './push-queries'

/** Errors of messages to browsers, as users read them. */
const pushErrors = {
  notFound: () => notFound('device', 'Reload the page.'),
  noKey: () =>
    new AppError('UNAVAILABLE', 'This hub cannot send push messages.', {
      hint: 'Its operator has to set ROOKERY_VAULT_KEY.',
    }),
  notAdded: () =>
    new AppError('CONFLICT', 'This device was not added.', {
      hint: `Sign in with a browser session; an account can have ${pushLimits.devicesPerAccountMax} devices.`,
    }),
  gone: () =>
    new AppError(
      'CONFLICT',
      'This browser no longer accepts messages, so it was deleted from the list.',
      {
        hint: 'Add it again from that browser.',
      },
    ),
  notSent: (reason: string) =>
    new AppError('UNAVAILABLE', `The test was not sent. ${reason}`, { hint: 'Try again later.' }),
  refused: (reason: string) => new AppError('CONFLICT', `The test was not sent. ${reason}`),
}

/** Hours in which nothing is sent, in local time. */
interface QuietHours {
  /** Minutes after local midnight; null: there are none. */
  quietFrom: number | null
  quietTo: number | null
  /** IANA name. */
  timezone: string
}

const minuteMs = 60_000
const dayMs = 86_400_000

/** Returns when the quiet hours end that hold at a time; null when none do. They may span midnight. */
export function findQuietEnd(
  { quietFrom, quietTo, timezone }: QuietHours,
  now: number,
): number | null {
  if (quietFrom === null || quietTo === null || quietFrom === quietTo) return null
  const offsetAt = readOffsets(timezone)
  const reading = now + offsetAt(now)
  const midnight = Math.floor(reading / dayMs) * dayMs
  const minute = (reading - midnight) / minuteMs
  const spansMidnight = quietFrom > quietTo
  const isQuiet = spansMidnight
    ? minute >= quietFrom || minute < quietTo
    : minute >= quietFrom && minute < quietTo
  if (!isQuiet) return null
  const endDay = spansMidnight && minute >= quietFrom ? midnight + dayMs : midnight
  // Where clocks go back, the end comes twice; the second one is still ahead then.
  return Math.max(findFirst(offsetAt, endDay + quietTo * minuteMs), now + minuteMs)
}

const bodyCharsMax = 160

/** Messages of one device that are shown one by one; more than this are one summary. */
const shownOneByOneMax = 3

const titles: Record<NotificationKind, (from: string) => string> = {
  mention: (from) => `${from} mentioned you`,
  reply: (from) => `${from} replied to you`,
  dm: (from) => `Message from ${from}`,
  approval: (from) => `${from} requires approval`,
  run: (from) => `${from} answered`,
}

const shorten = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return shortenText(line, bodyCharsMax)
}

/** What an inbox item notifies its account of. */
type Notified = Omit<DueMessage, 'itemId' | 'content' | 'from'> & { from: string | null }

/** Returns the path that an inbox item is about. */
function toPath({ kind, postId, commentId, conversationId }: Notified): string {
  if (kind === 'approval') return '/approvals'
  if (conversationId !== null) return `/dm/${encodeURIComponent(conversationId)}`
  if (postId === null) return '/inbox'
  return commentId === null ? postPath(postId) : commentPath(postId, commentId)
}

/** Returns what happened, as one line, and where it is. */
export const describeNotification = (due: Notified): { title: string; path: string } => ({
  title: titles[due.kind](due.from === null ? 'The hub' : `@${due.from}`),
  path: toPath(due),
})

const composeOne = (due: DueMessage): PushMessage => ({
  ...describeNotification(due),
  body: shorten(due.content),
  tag: due.itemId,
})

/** Returns the notifications for what is due at one device: one each, or a summary of many. */
function composeMessages(due: readonly DueMessage[]): PushMessage[] {
  if (due.length <= shownOneByOneMax) return due.map(composeOne)
  const names = [...new Set(due.flatMap(({ from }) => (from === null ? [] : [`@${from}`])))]
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
  return [
    {
      title: `${due.length} new notifications`,
      body: names.length === 0 ? '' : `From ${names.slice(0, 3).join(', ')}${more}`,
      path: '/inbox',
      tag: 'summary',
    },
  ]
}

/**
 * Sends the messages that are due, to all devices at once, and returns when the next ones are; null when
 * none wait. A message that could not be sent is tried again, later each time, until a day has passed. Two
 * senders never claim the same message, but a sender that dies after sending leaves its messages to the
 * next one, so a device can get one twice: it shows it once, by its tag.
 */
export async function sendPushes(context: ActionContext): Promise<number | null> {
  const { db, clock, settings } = context
  const adminKeyHash = await hashAdminKey(settings)
  for (let round = 0; round < pushLimits.roundsMax; round++) {
    const now = clock.now()
    const claim = clock.newId<string>()
    const { due } = await batch(db, {
      claim: claimDue({ claim, now }),
      due: selectClaimed({ claim, now, adminKeyHash }),
    })
    const results = await Promise.all(
      [...groupByDevice(due).values()].map((group) => sendToDevice(context, claim, group)),
    )
    const { next } = await batch(db, {
      results: results.flat(),
      done: deleteClaimed({ claim }),
      next: selectNextDue({}),
    })
    if (next?.at == null || next.at > now) return next?.at ?? null
  }
  return clock.now()
}

function groupByDevice(due: readonly DueAtDevice[]): Map<string, [DueAtDevice, ...DueAtDevice[]]> {
  const groups = new Map<string, [DueAtDevice, ...DueAtDevice[]]>()
  for (const each of due) {
    const group = groups.get(each.deviceId)
    if (group) group.push(each)
    else groups.set(each.deviceId, [each])
  }
  return groups
}

/** Sends what is due at one device, and returns the statements that store how it ended. */
async function sendToDevice(
  { clock, push }: ActionContext,
  claim: string,
  due: [DueAtDevice, ...DueAtDevice[]],
): Promise<Statement<unknown>[]> {
  const [{ deviceId, timezone, quietFrom, quietTo, ...device }] = due
  const now = clock.now()
  const quietEnd = timezone === null ? null : findQuietEnd({ quietFrom, quietTo, timezone }, now)
  if (quietEnd !== null) return [postpone({ claim, deviceId, dueAt: quietEnd, isAttempt: false })]
  let result: PushResult = { kind: 'sent' }
  for (const message of composeMessages(due)) {
    result = await push.send(device, message)
    if (result.kind !== 'sent') break
  }
  if (result.kind === 'gone') return [deleteDevice({ id: deviceId })]
  const failure = result.kind === 'sent' ? null : result.reason
  const stored = recordSent({ deviceId, now, failure })
  if (result.kind !== 'failed') return [stored]
  const attempts = Math.max(...due.map((each) => each.attempts))
  const wanted = now + Math.max(result.retryAfterMs ?? 0, findBackoff(attempts))
  const retryAt = boundWait(wanted, now, pushLimits.waitMsMax)
  return attempts >= pushLimits.attemptsMax
    ? [stored]
    : [stored, postpone({ claim, deviceId, dueAt: retryAt, isAttempt: true })]
}

/** Doubles from a minute to four hours. */
const findBackoff = (attempts: number): number =>
  Math.min(pushLimits.retryMs * 2 ** (attempts - 1), pushLimits.retryMsMax)

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
