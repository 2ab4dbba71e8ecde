import { limits, triggerLimits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { batch, run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import type { InboxItemId, PostId } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import { showsText, toStorable, toStorableJson } from '../../shared/texts'
import { takeReview } from '../agents/review-actions'
import type { SentDelivery } from '../contract/triggers'
import type { ActionContext } from '../database/action-context'
import { findFailedConstraint } from '../database/constraint-errors'
import { decodeUtf8, isFormType, requireSmallJson } from '../http/bodies'
import { armSweep, wakeAgents } from '../inbox/wake'
import { createPost } from '../posts/actions'
import { maskCredentials } from '../rules/credential-patterns'
import { insertTask } from '../scheduling/task-queries'
import type { deliveryOutcomes } from '../schema/triggers'
import { triggerErrors } from './actions'
import {
  deleteOldDeliveries,
  deliveryConstraints,
  insertDelivery,
  insertRefused,
  type ReceivingTrigger,
  releaseBody,
  selectAccepted,
  selectReceiving,
  selectWait,
} from './queries'
import { fillTemplate, parseTemplate } from './template'

type Refusal = Exclude<(typeof deliveryOutcomes)[number], 'accepted' | 'ping' | 'ignored'>

/** Why a delivery was refused, as its sender and the owner of the trigger read it. */
class RefusedDelivery extends AppError {
  readonly outcome: Refusal

  constructor(outcome: Refusal, ...error: ConstructorParameters<typeof AppError>) {
    super(...error)
    this.outcome = outcome
  }
}

/** Errors of deliveries. */
const refusals = {
  signature: (verify: ReceivingTrigger['verify']) =>
    new RefusedDelivery('signature', 'UNAUTHORIZED', refusedSignatures[verify], {
      hint: 'Use the secret that creating the trigger, or its new secret, returned.',
    }),
  late: () =>
    new RefusedDelivery('late', 'UNAUTHORIZED', 'The delivery is older or newer than 5 minutes.', {
      hint: 'Sign it again with the time at which it is sent. Check the clock of the sender.',
    }),
  replayed: () =>
    new RefusedDelivery(
      'replayed',
      'UNAUTHORIZED',
      'This body was received before under another delivery id.',
      { hint: 'Send a delivery again with its own id.' },
    ),
  limit: (perHourMax: number, retryAfterMs: number) =>
    new RefusedDelivery(
      'limit',
      'RATE_LIMITED',
      `The trigger has accepted ${perHourMax} deliveries within an hour, the most it may.`,
      { hint: 'Send it again after as many seconds as Retry-After says.', retryAfterMs },
    ),
  owner: () =>
    new RefusedDelivery(
      'owner',
      'FORBIDDEN',
      'The owner of the trigger can no longer post there, or ask that agent.',
      { hint: 'Another member can create a trigger.' },
    ),
  body: (cause?: unknown) =>
    new RefusedDelivery(
      'body',
      'VALIDATION',
      // JSON can be nested too deep, or have too many values.
      cause instanceof AppError ? cause.message : 'The body is not JSON.',
      { hint: 'Send JSON in UTF-8, or a form with JSON in its field "payload".', cause },
    ),
  empty: () =>
    new RefusedDelivery('refused', 'VALIDATION', 'With this payload the template is empty.', {
      hint: 'Check the paths of the template.',
    }),
  idTooLong: () =>
    new RefusedDelivery('body', 'VALIDATION', 'The id of the delivery is too long.', {
      hint: `Use at most ${triggerLimits.idCharsMax} characters.`,
    }),
  /** What the hub refused to post. */
  other: ({ code, message, hint }: AppError) =>
    new RefusedDelivery('refused', code, message, hint === null ? {} : { hint }),
}

const refusedSignatures = {
  standard: 'The signature of the delivery is missing or wrong (Standard Webhooks).',
  github: 'The signature of the delivery is missing or wrong (X-Hub-Signature-256).',
  bearer: 'The key of the delivery is missing or wrong (Authorization: Bearer).',
} as const

/** What became of a delivery that was accepted. */
interface Accepted {
  /** False: it was accepted before, or asks for nothing. */
  isStarted: boolean
  /** More about it, such as why nothing was started. */
  note: string | null
}

const notes = {
  ping: 'A ping starts nothing.',
  duplicate: 'It was received before.',
}

/** A delivery that its sender has the secret for. */
interface Verified {
  /** The id that the sender gave; null: none. */
  deliveryId: string | null
  bodyHash: string
  event: string | null
}

/**
 * Takes a delivery of another service: posts what the template makes of it in the name of the owner of the trigger, or gives
 * the agent a task for the owner, in the batch that records the delivery. The rights are those of the owner at this time.
 *
 * @throws NOT_FOUND, UNAUTHORIZED for a delivery that is forged, late or replayed, RATE_LIMITED, FORBIDDEN when the owner must
 *   not do it any more, VALIDATION for a body that is not JSON; and what posting throws
 */
export async function receiveDelivery(
  context: ActionContext,
  id: string,
  sent: SentDelivery,
): Promise<Accepted> {
  const { db, clock } = context
  const now = clock.now()
  const trigger = await run(db, selectReceiving({ id, now }))
  if (!trigger) throw triggerErrors.notFound()
  const event = readEvent(trigger, sent)
  try {
    return await takeDelivery(context, trigger, sent, event)
  } catch (error) {
    if (!(error instanceof RefusedDelivery)) throw error
    const { outcome, message: note } = error
    const isSigned = outcome !== 'signature'
    context.defer(recordIdle(context, trigger, { outcome, event: isSigned ? event : null, note }))
    throw error
  }
}

/** The name of GitHub's event; null for other senders. */
const readEvent = ({ verify }: ReceivingTrigger, { header }: SentDelivery): string | null =>
  verify === 'github' ? toStorable((header('x-github-event') ?? '').slice(0, 100)) || null : null

/** Records a delivery that started nothing. */
const recordIdle = (
  { db, clock }: ActionContext,
  { id: triggerId }: ReceivingTrigger,
  of: Pick<Parameters<typeof insertRefused>[0], 'outcome' | 'event' | 'note'>,
): Promise<unknown> => {
  const keys = { deliveryKey: null, bodyKey: null, postId: null }
  return batch(db, insertRefused({ id: clock.newId(), triggerId, at: clock.now(), ...keys, ...of }))
}

async function takeDelivery(
  context: ActionContext,
  trigger: ReceivingTrigger,
  sent: SentDelivery,
  event: string | null,
): Promise<Accepted> {
  const { clock, triggerSecrets } = context
  const verdict = await triggerSecrets.check(trigger, sent, clock.now())
  if (verdict === 'signature') throw refusals.signature(trigger.verify)
  if (verdict === 'late') throw refusals.late()
  if (event === 'ping') {
    context.defer(recordIdle(context, trigger, { outcome: 'ping', event, note: notes.ping }))
    return { isStarted: false, note: notes.ping }
  }
  if (!trigger.isAllowed) throw refusals.owner()
  if (trigger.takesReviews) return startReview(context, trigger, event ?? '', parsePayload(sent))
  const deliveryId = readDeliveryId(trigger, sent)
  const verified = { deliveryId, bodyHash: await sha256(sent.body), event }
  const { text, note } = fillWith(context, trigger, parsePayload(sent), event)
  return start(context, trigger, verified, { text, note })
}

/** Returns the id that a sender gives a delivery, which stays the same when it is sent again; null without one. */
function readDeliveryId({ verify }: ReceivingTrigger, { header }: SentDelivery): string | null {
  const given = {
    standard: () => header('webhook-id'),
    github: () => header('x-github-delivery'),
    bearer: () => header('idempotency-key') ?? header('webhook-id'),
  }[verify]()
  if (given === undefined || given === '') return null
  if (given.length > triggerLimits.idCharsMax) throw refusals.idTooLong()
  return toStorable(given)
}

/** @throws VALIDATION for a body that is neither JSON nor a form with JSON in `payload` */
function parsePayload({ body, header }: SentDelivery): unknown {
  try {
    const text = decodeUtf8(body)
    const isForm = isFormType(header('content-type'))
    // curl declares any body as a form.
    const json = (isForm && new URLSearchParams(text).get('payload')) || text
    requireSmallJson(json === text ? body : new TextEncoder().encode(json))
    return toStorableJson(JSON.parse(json))
  } catch (cause) {
    throw refusals.body(cause)
  }
}

/** Fills the template of a trigger, to what fits in a post or a task, and says what is missing. */
function fillWith(
  { settings }: ActionContext,
  trigger: ReceivingTrigger,
  payload: unknown,
  event: string | null,
): { text: string; note: string | null } {
  const { parts } = parseTemplate(trigger.template)
  const filled = fillTemplate(parts, {
    payload,
    event: event ?? undefined,
    mask: (value) => maskCredentials(value, settings),
  })
  const { contentCharsMax } = trigger.agent === null ? limits.post : limits.task
  // Once more as a whole: parts of a secret can meet in it.
  const whole = maskCredentials(filled.text, settings).trim()
  const text = cutText(whole, contentCharsMax)
  if (!showsText(text)) throw refusals.empty()
  const isCut = filled.isCut || text.length < whole.length
  const remarks = [
    filled.missing.length > 0 && `Not in the payload: ${filled.missing.join(', ')}.`,
    isCut && 'The text was too long and was truncated.',
  ].filter((each) => each !== false)
  return { text, note: remarks.length > 0 ? cutText(remarks.join(' '), 500) : null }
}

type Row = Parameters<typeof insertDelivery>[0]

/** Takes a review of a pull request. Its id, in the signed body, says whether it was received before. */
async function startReview(
  context: ActionContext,
  trigger: ReceivingTrigger,
  event: string,
  payload: unknown,
): Promise<Accepted> {
  const { clock } = context
  const { id: triggerId } = trigger
  const at = clock.now()
  const keys = { deliveryKey: null, bodyKey: null, postId: null }
  const result = await takeReview(context, {
    triggerId,
    event,
    payload,
    record: (note) => [
      deleteOldDeliveries(triggerId, at),
      insertDelivery({ id: clock.newId(), triggerId, ...keys, event, at, note }),
    ],
  }).catch(async (error: unknown) => {
    throw await toRefusal(context, error, trigger)
  })
  // What starts something, at once or later, is recorded with it.
  if (!result.isStarted) {
    context.defer(recordIdle(context, trigger, { outcome: 'ignored', event, note: result.note }))
  }
  return result
}

/** Starts what a delivery is for, once, and records it in the same batch. */
async function start(
  context: ActionContext,
  trigger: ReceivingTrigger,
  { deliveryId, bodyHash, event }: Verified,
  { text, note }: { text: string; note: string | null },
): Promise<Accepted> {
  const { db, clock } = context
  const row: Row = {
    id: clock.newId(),
    triggerId: trigger.id,
    // Ids and hashes cannot meet.
    deliveryKey: deliveryId === null ? `body ${bodyHash}` : `id ${deliveryId}`,
    // GitHub's signature is for the body alone: who has one could send it again under any id, or without one.
    bodyKey: trigger.verify === 'github' ? bodyHash : null,
    event,
    at: clock.now(),
    note,
    postId: null,
  }
  const isNamed = deliveryId !== null || trigger.verify === 'github'
  const toRecord: ToRecord = (postId) => [
    ...(isNamed ? [] : [releaseBody(row, row.at - triggerLimits.sameBodyMs)]),
    deleteOldDeliveries(trigger.id, row.at),
    insertDelivery({ ...row, postId }),
  ]
  try {
    await (trigger.community === null ? giveTask : post)(context, trigger, text, toRecord)
    return { isStarted: true, note }
  } catch (error) {
    const isDuplicate = await run(db, selectAccepted(trigger.id, row.deliveryKey ?? ''))
    if (isDuplicate) return { isStarted: false, note: notes.duplicate }
    throw await toRefusal(context, error, trigger)
  }
}

/** Returns what records a delivery, in the batch of what it starts. */
type ToRecord = (postId: PostId | null) => ReturnType<typeof insertDelivery>[]

/** Posts in the name of the owner. The text is of another service: it mentions nobody whom the template does not mention. */
async function post(
  context: ActionContext,
  { ownerId, owner, community, template }: ReceivingTrigger,
  text: string,
  toRecord: ToRecord,
): Promise<void> {
  const actor = {
    accountId: ownerId,
    name: owner.name,
    kind: owner.kind,
    activationId: null,
    idempotencyKey: null,
    postId: null,
  }
  const input = { community: community?.name ?? '', title: '', content: text }
  await createPost(context, actor, input, undefined, { request: template, record: toRecord })
}

/** Gives the agent a task, which the owner asks and pays for. */
async function giveTask(
  context: ActionContext,
  { ownerId, agentId, template }: ReceivingTrigger,
  text: string,
  toRecord: ToRecord,
): Promise<void> {
  const { db, clock } = context
  if (agentId === null) throw triggerErrors.notFound()
  const token = await armSweep(context)
  await batch(db, {
    record: toRecord(null),
    task: insertTask({
      id: clock.newId<InboxItemId>(),
      agentId,
      requesterId: ownerId,
      task: text,
      request: template,
      model: null,
      priority: null,
      at: clock.now(),
    }),
  })
  context.defer(wakeAgents(context, [{ accountId: agentId }], token))
}

/** Returns why nothing was started; any error that says nothing about it as it is. */
async function toRefusal(
  { db, clock }: ActionContext,
  error: unknown,
  { id, perHourMax }: ReceivingTrigger,
): Promise<unknown> {
  switch (findFailedConstraint(error)) {
    case deliveryConstraints.sameBody:
      return refusals.replayed()
    case deliveryConstraints.notAllowed:
      return refusals.owner()
    case deliveryConstraints.overLimit:
      return refusals.limit(perHourMax, (await run(db, selectWait(id, clock.now())))?.ms ?? 0)
    default:
      return error instanceof AppError ? refusals.other(error) : error
  }
}
