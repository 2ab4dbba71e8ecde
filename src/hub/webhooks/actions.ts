import * as z from 'zod'
import { webhookLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import { knownFields } from '../../shared/known-fields'
import type { Actor } from '../contract/hub'
import { webhookFormats } from '../contract/webhooks'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { presentPerson } from '../rules/people'
import { communityName, presentPlace, withoutMark } from '../rules/places'
import { webhookEvents } from '../schema/webhooks'
import { guardActor, type Viewer } from '../viewers/queries'
import { actorReader } from '../viewers/reader'
import { formatTest } from './messages'
import {
  type DeliveryRow,
  deleteWebhook,
  insertTest,
  insertWebhook,
  recordTest,
  resendStatements,
  selectDelivery,
  selectSealed,
  selectWebhookPlace,
  updateWebhook,
  type WebhookRow,
  webhookConstraints,
} from './queries'
import { deferDeliveries } from './send-actions'

/** Errors of webhooks, as users read them. */
export const webhookErrors = {
  notFound: () => notFound('webhook', 'It may have been deleted, or belong to another account.'),
  deliveryNotFound: () =>
    notFound('delivery', 'Only deliveries to an enabled webhook of yours can be sent again.'),
  unknownCommunity: () => notFound('community', 'Check the name of the community.'),
  membersOnly: () =>
    new AppError('FORBIDDEN', 'Only people who are members can create webhooks.', {
      hint: 'Ask a member to create it: its messages say what that member may read.',
    }),
  notAllowed: (cause?: unknown) =>
    new AppError('FORBIDDEN', 'You may not create a webhook there.', {
      hint: 'Webhooks of the whole hub are for admins, and those of a private community for its moderators.',
      cause,
    }),
  lost: () =>
    new AppError('FORBIDDEN', 'You may not have a webhook there any more.', {
      hint: 'You can disable or delete it.',
    }),
  hubOnly: () =>
    new AppError('VALIDATION', 'A webhook of a community is not sent levels of budgets.', {
      hint: 'Create one for the whole hub.',
      details: [{ path: 'body.events', message: 'Levels of budgets are for the whole hub' }],
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `You have ${webhookLimits.perAccountMax} webhooks, the most an account can have.`,
      { hint: 'Delete one that is no longer used.', cause },
    ),
  tooManyOfMember: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `You have ${webhookLimits.perMemberMax} webhooks in this community, the most one account can have there.`,
      { hint: 'Delete one that is no longer used.', cause },
    ),
  tooManyOfCommunity: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `This community has ${webhookLimits.perCommunityMax} webhooks, the most it can have.`,
      { hint: 'Ask a moderator of it to delete one that is no longer used.', cause },
    ),
  changed: () =>
    new AppError('CONFLICT', 'The webhook was changed at the same time.', { hint: 'Try again.' }),
}

const url = z
  .url({ protocol: /^https$/, error: 'Must be an https URL' })
  .max(webhookLimits.urlCharsMax)
  .describe('An https URL on the public internet.')

const events = z
  .array(z.enum(webhookEvents))
  .min(1)
  .transform((list) => webhookEvents.filter((event) => list.includes(event)))

export const webhookInput = knownFields({
  url,
  events,
  community: communityName.optional().describe('Leave it out for the whole hub.'),
  format: z.enum(webhookFormats).default('json'),
})

export const webhookUpdate = knownFields({
  url: url.optional(),
  events: events.optional(),
  is_disabled: z.boolean().optional(),
})

export interface NewWebhook extends WebhookRow {
  /** Returned only once. */
  secret: string
}

/**
 * Creates a webhook of the actor's.
 *
 * @throws FORBIDDEN for anyone but people who are members, for the hub but admins, and for a private community but its
 *   moderators; NOT_FOUND, UNAVAILABLE without a vault key, CONFLICT for too many
 */
export async function createWebhook(
  context: ActionContext,
  actor: Actor,
  { role }: Pick<Viewer, 'role'>,
  input: z.output<typeof webhookInput>,
): Promise<IdempotentResult<NewWebhook>> {
  if (actor.kind !== 'human' || role === 'guest') throw webhookErrors.membersOnly()
  const { db, clock, webhooks } = context
  const { accountId, idempotencyKey: key } = actor
  if (input.community !== undefined && input.events.includes('budget.level')) {
    throw webhookErrors.hubOnly()
  }
  const community = await findPlace(context, actor, input.community)
  if (community === null && role !== 'admin') throw webhookErrors.notAllowed()
  const id = clock.newId()
  const { secret, ...sealed } = await webhooks.create(id, input.url)
  const createdAt = clock.now()
  const { format } = input
  const row = { id, format, events: input.events, createdAt }
  return runOnce(
    db,
    { accountId, key, action: 'webhooks.create', input },
    {
      now: createdAt,
      answer: {
        ...row,
        ownerId: accountId,
        owner: presentPerson({ ...actor, id: accountId }),
        community: community && presentPlace(community),
        url: sealed.url,
        secret,
        disabledAt: null,
        reason: null,
        failingSince: null,
      },
      isSecret: true,
      constraints: {
        [webhookConstraints.notAllowed]: webhookErrors.notAllowed,
        [webhookConstraints.ofAccount]: webhookErrors.tooMany,
        [webhookConstraints.ofCommunity]: webhookErrors.tooManyOfCommunity,
        [webhookConstraints.ofMember]: webhookErrors.tooManyOfMember,
      },
      statements: {
        guard: await guardActor(context, actor, { role: 'member' }),
        webhook: insertWebhook({
          ...row,
          ...sealed,
          accountId,
          communityId: community?.id ?? null,
        }),
        entry:
          community === null
            ? recordAdminAction(context, accountId, {
                action: 'webhook.create',
                targetType: 'webhook',
                targetId: id,
                after: { url: sealed.url, format, events: input.events },
              })
            : null,
      },
    },
  )
}

/** @throws NOT_FOUND, FORBIDDEN when the actor may not have a webhook there */
async function findPlace({ db }: ActionContext, actor: Actor, name: string | undefined) {
  if (name === undefined) return null
  const found = await run(
    db,
    selectWebhookPlace(actor.accountId, withoutMark(name), actorReader(actor)),
  )
  if (!found) throw webhookErrors.unknownCommunity()
  if (!found.isAllowed) throw webhookErrors.notAllowed()
  return found
}

type Owner = Pick<Actor, 'accountId'>

/** Returns what is encrypted of a webhook of an account. @throws NOT_FOUND */
async function findOwn({ db }: ActionContext, { accountId }: Owner, id: string) {
  const found = await run(db, selectSealed(id, accountId))
  if (!found) throw webhookErrors.notFound()
  return found
}

/** Returns one that the account may still have where it is. @throws NOT_FOUND, FORBIDDEN */
async function findAllowed(context: ActionContext, owner: Owner, id: string) {
  const found = await findOwn(context, owner, id)
  if (!found.isAllowed) throw webhookErrors.lost()
  return found
}

/**
 * Changes a webhook of the account. Enabling it ends its wait after failures. One that it may not have there any more can
 * only be disabled.
 *
 * @throws NOT_FOUND, FORBIDDEN, VALIDATION for a URL that must not be requested, CONFLICT
 */
export async function changeWebhook(
  context: ActionContext,
  owner: Owner,
  id: string,
  input: z.output<typeof webhookUpdate>,
): Promise<void> {
  const { db, clock, webhooks } = context
  const { is_disabled: isDisabled } = input
  const isOnlyDisabled = isDisabled === true && !input.url && !input.events
  const find = isOnlyDisabled ? findOwn : findAllowed
  const before = await find(context, owner, id)
  if (before.communityId !== null && input.events?.includes('budget.level')) {
    throw webhookErrors.hubOnly()
  }
  const changes = {
    ...(input.url !== undefined && (await webhooks.move(id, before.sealed, input.url))),
    ...(input.events !== undefined && { events: input.events }),
    ...(isDisabled === true && { disabledAt: before.disabledAt ?? clock.now() }),
    ...(isDisabled === false && enabled),
  }
  if (Object.keys(changes).length === 0) return
  const isChanged = await run(db, updateWebhook(id, before, changes))
  if (!isChanged) throw webhookErrors.changed()
  deferDeliveries(context, isDisabled === false)
}

const enabled = { disabledAt: null, reason: null, failures: 0, failingSince: null, retryAt: 0 }

/**
 * Returns a new secret of a webhook of the account; those before also sign for a day.
 *
 * @throws NOT_FOUND, FORBIDDEN, CONFLICT
 */
export async function rotateSecret(
  context: ActionContext,
  actor: Actor,
  id: string,
): Promise<IdempotentResult<{ secret: string }>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const before = await findAllowed(context, actor, id)
  const { secret, sealed } = await context.webhooks.rotate(id, before.sealed)
  const once = { accountId, key, action: 'webhooks.secret', input: { id } }
  const done = await runOnce(db, once, {
    now: clock.now(),
    answer: { secret },
    isSecret: true,
    statements: { isChanged: updateWebhook(id, before, { sealed }) },
  })
  if (done.results?.isChanged !== true) throw webhookErrors.changed()
  return done
}

/** Deletes a webhook that the account may manage, and its deliveries. @throws NOT_FOUND */
export async function removeWebhook(
  { db, clock }: ActionContext,
  { accountId }: Owner,
  id: string,
): Promise<void> {
  const action = { action: 'webhook.delete', targetType: 'webhook', targetId: id }
  const entry = { id: clock.newId(), accountId, ...action, createdAt: clock.now() }
  const { isDeleted } = await batch(db, deleteWebhook(id, accountId, entry))
  if (!isDeleted) throw webhookErrors.notFound()
}

/** Sends a delivery of a webhook of the account again, with the same id. @throws NOT_FOUND */
export async function resendDelivery(
  context: ActionContext,
  { accountId }: Owner,
  webhookId: string,
  id: string,
): Promise<void> {
  const now = context.clock.now()
  const { isFound } = await batch(context.db, resendStatements({ id, webhookId, accountId, now }))
  if (!isFound) throw webhookErrors.deliveryNotFound()
  deferDeliveries(context, true)
}

/**
 * Sends a test to a webhook of the account at once, and returns how that ended. It is not tried again: what a key has sent
 * is stored before, so a retry sends nothing.
 *
 * @throws NOT_FOUND, FORBIDDEN
 */
export async function testWebhook(
  context: ActionContext,
  actor: Actor,
  webhookId: string,
): Promise<IdempotentResult<DeliveryRow>> {
  const { db, clock, webhooks } = context
  const { accountId, idempotencyKey: key } = actor
  const { sealed, format } = await findAllowed(context, actor, webhookId)
  const now = clock.now()
  const once = { accountId, key, action: 'webhooks.test', input: { id: webhookId } }
  const newId = clock.newId<string>()
  const { answer: test, isDuplicate } = await runOnce(db, once, {
    now,
    answer: { id: newId },
    statements: { row: insertTest({ id: newId, webhookId, now }) },
  })
  const send = async () => {
    const body = formatTest(format, now)
    const { kind, answer } = await webhooks.send({ webhookId, sealed, id: test.id, body })
    return recordTest({ id: test.id, state: kind === 'sent' ? 'sent' : 'failed', answer })
  }
  const { delivery } = await batch(db, {
    end: isDuplicate ? null : await send(),
    delivery: selectDelivery(webhookId, test.id),
  })
  if (!delivery) throw webhookErrors.deliveryNotFound()
  return { answer: delivery, isDuplicate, results: null }
}
