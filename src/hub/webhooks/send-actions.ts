import { webhookLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import type { InboxItemId } from '../../shared/ids'
import type { WebhookResult } from '../contract/webhooks'
import type { ActionContext } from '../database/action-context'
import { formatMessage } from './messages'
import {
  claimWebhooks,
  type Delivery,
  deleteOldDeliveries,
  disableWebhook,
  recordAttempt,
  releaseRest,
  releaseWebhook,
  selectClaimedDeliveries,
  selectNextDelivery,
} from './send-queries'

/**
 * Returns how long to wait after a failed attempt: from 5 seconds to a day, up to a tenth of it random.
 *
 * @param attempts failed so far, at least 1
 * @param random from 0 to 1
 */
export function findRetryMs(attempts: number, random: number): number {
  const { retriesMs } = webhookLimits
  const waitMs = retriesMs[Math.min(attempts, retriesMs.length) - 1] ?? 0
  return Math.round(waitMs * (1 + random / 10))
}

/** The part of a context that sending needs. */
type Context = Pick<ActionContext, 'db' | 'clock' | 'settings' | 'webhooks' | 'log'>

/**
 * Sends what is due and returns when the next delivery is; null when none waits. Webhooks of one host are sent to one
 * after the other, and those of different hosts at once, so that a host that does not answer holds up its own only. Two
 * senders never claim the same webhook, but one that dies after sending leaves its deliveries to the next one: a message
 * can arrive twice, with the same id.
 */
export async function sendDeliveries(context: Context): Promise<number | null> {
  const { db, clock } = context
  const startedAt = clock.now()
  for (let round = 0; round < webhookLimits.roundsMax; round++) {
    const now = clock.now()
    if (now - startedAt > webhookLimits.sendMsMax) break
    const claim = clock.newId<string>()
    const { due } = await batch(db, {
      claim: claimWebhooks({ claim, now }),
      due: selectClaimedDeliveries({ claim, now }),
    })
    const sender = { context, claim, endsAt: startedAt + webhookLimits.sendMsMax }
    const results = await Promise.all(groupBy(due, ({ host }) => host).map(sendToHost(sender)))
    const { next } = await batch(db, {
      results: results.flat(),
      rest: releaseRest({ claim, now: clock.now() }),
      next: selectNextDelivery({}),
    })
    if (next?.at == null || next.at > clock.now()) return next?.at ?? null
  }
  return clock.now()
}

type Group = readonly [Delivery, ...Delivery[]]

function groupBy(due: readonly Delivery[], keyOf: (delivery: Delivery) => string): Group[] {
  const groups = new Map<string, [Delivery, ...Delivery[]]>()
  for (const each of due) {
    const group = groups.get(keyOf(each))
    if (group) group.push(each)
    else groups.set(keyOf(each), [each])
  }
  return [...groups.values()]
}

interface Sender {
  context: Context
  claim: string
  /** Nothing is begun later. */
  endsAt: number
}

/** Sends to the webhooks of a host in turn, until one cannot be reached. Returns what stores how that ended. */
const sendToHost =
  (sender: Sender) =>
  async (due: Group): Promise<Statement<unknown>[]> => {
    const statements: Statement<unknown>[] = []
    let isReached = true
    for (const group of groupBy(due, ({ webhookId }) => webhookId)) {
      const sent: Sent = isReached
        ? await sendToWebhook(sender, group)
        : { isReached, statements: [passOver(sender, group)] }
      statements.push(...sent.statements)
      isReached = sent.isReached
    }
    return statements
  }

/** Leaves a webhook whose host does not answer now for later. That is no failure of its own. */
const passOver = ({ context, claim }: Sender, [first]: Group): Statement<unknown> =>
  releaseWebhook({
    id: first.webhookId,
    claim,
    retryAt: context.clock.now() + findRetryMs(1, 0),
    failures: first.failures,
    failingSince: first.failingSince,
  })

interface Sent {
  isReached: boolean
  statements: Statement<unknown>[]
}

/** Sends to a webhook what is due, in order, until an attempt fails or the time is over. */
async function sendToWebhook(sender: Sender, due: Group): Promise<Sent> {
  const { context, claim, endsAt } = sender
  const { clock } = context
  const [{ webhookId: id }] = due
  const statements: Statement<unknown>[] = []
  let isAnswered = false
  for (const delivery of due) {
    if (clock.now() > endsAt) break
    const withheld = findWithheld(delivery)
    if (withheld !== null) {
      statements.push(store(context, delivery, 'withheld', withheld))
      continue
    }
    const result = await send(context, delivery)
    if (result.kind !== 'sent') {
      const failed = recordFailure(sender, delivery, result, isAnswered)
      const isReached = result.kind !== 'failed'
      return { isReached, statements: [...statements, ...failed] }
    }
    isAnswered = true
    statements.push(store(context, delivery, 'sent', result.answer))
  }
  const { failures, failingSince } = isAnswered ? reached : due[0]
  const released = { id, claim, retryAt: clock.now(), failures, failingSince }
  return { isReached: true, statements: [...statements, releaseWebhook(released)] }
}

const reached = { failures: 0, failingSince: null }

/** Returns why a delivery must not be sent any more; null: it may be. */
function findWithheld({ mayReceive, isGone }: Delivery): string | null {
  if (!mayReceive) return 'It was not sent: the owner of the webhook may not read it any more.'
  if (isGone) return 'It was not sent: what it is about was deleted or is private.'
  return null
}

/** Sends one delivery. An error of the hub's own counts as a failure. */
async function send(
  { webhooks, settings, log }: Context,
  { webhookId, sealed, ...delivery }: Delivery,
): Promise<WebhookResult> {
  try {
    const body = formatMessage({ ...delivery, webhookId }, settings.ROOKERY_ORIGIN?.[0] ?? '')
    return await webhooks.send({ webhookId, sealed, id: delivery.id, body })
  } catch (error) {
    log.error('failed to send to a webhook', { webhookId, error })
    return { kind: 'failed', answer: 'The hub failed to send it.', retryAfterMs: null }
  }
}

const store = (
  { clock }: Context,
  { id }: Delivery,
  state: 'sent' | 'failed' | 'withheld',
  answer: string,
): Statement<unknown> => {
  const now = clock.now()
  return recordAttempt({ id, state, now, nextAt: now, answer })
}

/** A number from 0 to 1 from the random part of a new id. */
const drawRandom = ({ clock }: Context): number =>
  Number.parseInt(clock.newId<string>().slice(-8), 16) / 2 ** 32

/**
 * Returns what stores a failed attempt. The webhook as a whole waits, so that what it has to be sent is tried in order
 * and a dead one costs one request at a time; after a refused message only that one waits for long.
 *
 * @param isAnswered whether an attempt before it in this round was successful
 */
function recordFailure(
  { context, claim }: Sender,
  delivery: Delivery,
  { kind, answer, retryAfterMs }: WebhookResult,
  isAnswered: boolean,
): Statement<unknown>[] {
  const { clock } = context
  const { webhookId, id } = delivery
  const { refusedMs, failingMsMax, waitMsMax } = webhookLimits
  const now = clock.now()
  const before = isAnswered ? reached : delivery
  const failures = before.failures + 1
  const failingSince = before.failingSince ?? now
  const isRefused = kind === 'refused'
  const random = drawRandom(context)
  const waitMs = Math.max(findRetryMs(failures, random), retryAfterMs ?? 0)
  const retryAt = now + Math.min(waitMs, isRefused ? refusedMs : waitMsMax)
  const isOver = kind === 'gone' || now - delivery.createdAt >= failingMsMax
  const nextAt = isRefused ? now + findRetryMs(delivery.attempts + 1, random) : delivery.nextAt
  const isDisabled = kind === 'gone' || now - failingSince >= failingMsMax
  return [
    recordAttempt({ id, state: isOver ? 'failed' : 'pending', now, nextAt, answer }),
    ...(isDisabled ? disable(context, delivery, kind, answer) : []),
    releaseWebhook({ id: webhookId, claim, retryAt, failures, failingSince }),
  ]
}

function disable(
  { clock }: Context,
  { webhookId: id, url }: Delivery,
  kind: WebhookResult['kind'],
  answer: string,
): Statement<unknown>[] {
  const reason =
    kind === 'gone'
      ? 'Its receiver answered 410: it wants no more messages.'
      : `It failed for five days. The last attempt: ${answer}`
  const notice = `The webhook to ${url} was disabled. ${reason} Enable it at /settings/webhooks once the receiver works.`
  const itemId = clock.newId<InboxItemId>()
  return disableWebhook({ id, itemId, reason, notice, now: clock.now() })
}

/** Sends what a write has queued, after its answer; what fails is tried again by the sweep. */
export function deferDeliveries(
  context: Context & Pick<ActionContext, 'scheduler' | 'defer'>,
  isQueued: boolean | undefined,
): void {
  if (!isQueued) return
  const send = async () => {
    // The answer of the request goes first.
    await new Promise((go) => setTimeout(go, 0))
    const nextAt = await sendDeliveries(context)
    if (nextAt !== null) await context.scheduler.sweepAt(nextAt)
  }
  context.defer(
    send().catch((error: unknown) => context.log.error('failed to send to webhooks', { error })),
  )
}

/**
 * Sends what is due while the sweep goes on, and returns when the sweep has to look again: at the next delivery, or
 * when another sender takes over from one that died.
 *
 * @param found from `selectDueDeliveries`
 */
export function sweepDeliveries(
  context: ActionContext,
  found: { at: number | null; hasOld: boolean } | undefined,
  now: number,
): number | null {
  if (found?.hasOld) context.defer(run(context.db, deleteOldDeliveries({ now })))
  const dueAt = found?.at ?? null
  if (dueAt === null || dueAt > now) return dueAt
  deferDeliveries(context, true)
  return now + webhookLimits.claimMs
}
