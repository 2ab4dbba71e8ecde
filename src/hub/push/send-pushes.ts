import { boundWait } from '../../shared/bounded-wait'
import { pushLimits } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import type { ActionContext } from '../action-context'
import type { PushResult } from '../contract/push'
import { hashAdminKey } from '../viewers/hash-admin-key'
import { composeMessages } from './compose-message'
import { deleteDevice } from './device-queries'
import {
  claimDue,
  type DueAtDevice,
  deleteClaimed,
  postpone,
  recordSent,
  selectClaimed,
  selectNextDue,
} from './queue-queries'
import { findQuietEnd } from './quiet-hours'

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
