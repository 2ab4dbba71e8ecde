import * as z from 'zod'
import { batch, run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { selectAccountByName } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { selectCommunity } from '../communities/queries'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { refuseItemsFor } from '../inbox/stopped-queries'
import { assertNoCredentials } from '../posts/credential-patterns'
import { bans } from '../schema/places'
import { actorReader } from '../viewers/reader'
import { recordStatements, toActionRow } from './create-records'
import { moderationConstraints, moderationErrors } from './errors'
import { guardBan, guardLift } from './guard-queries'
import { type ReasonInput, reasonInput } from './moderate-content'
import { type ActionRow, selectBan } from './read-queries'
import { insertBan, liftBan } from './write-queries'

export const banInput = knownFields({
  ...reasonInput.shape,
  account: z.string().min(1).max(100).describe('Name of the account.'),
  kind: z
    .enum(bans.kind.enumValues)
    .describe('A muted account reads and votes; a banned one reads only.'),
  ends_at: z.iso.datetime().nullable().default(null).describe('Null: until a moderator lifts it.'),
})

/**
 * Mutes or bans an account in a community. What waits there for an agent on its behalf is refused.
 *
 * @throws NOT_FOUND, VALIDATION for an end in the past, FORBIDDEN, CONFLICT for a moderator and for an
 *   account that already is
 */
export async function banAccount(
  context: ActionContext,
  actor: Actor,
  communityName: string,
  input: z.output<typeof banInput>,
): Promise<IdempotentResult<ActionRow>> {
  const { db, clock, settings } = context
  const { kind, reason } = input
  assertNoCredentials({ reason }, settings)
  const { community, account } = await batch(db, {
    community: selectCommunity(communityName, actorReader(actor)),
    account: selectAccountByName(input.account.replace(/^@/, '')),
  })
  if (!community) throw moderationErrors.unknownCommunity()
  if (!account) throw moderationErrors.unknownAccount()
  const now = clock.now()
  const endsAt = input.ends_at === null ? null : Date.parse(input.ends_at)
  if (endsAt !== null && endsAt <= now) throw moderationErrors.endInThePast()
  const banId = clock.newId()
  const row = toActionRow(context, actor, {
    kind,
    community,
    postId: null,
    commentId: null,
    banId,
    account,
    reason,
  })
  const { accountId, activationId, idempotencyKey: key } = actor
  const of = { accountId, activationId, communityId: community.id }
  const once = { accountId, key, action: 'bans.create', input: { ...input, communityName } }
  return runOnce(db, once, {
    now,
    answer: row,
    statements: {
      guard: guardBan({ ...of, targetId: account.id, kind, now }),
      ban: insertBan({
        id: banId,
        accountId: account.id,
        communityId: community.id,
        kind,
        reason,
        endsAt,
        createdBy: accountId,
        createdAt: now,
      }),
      waiting: refuseItemsFor(account.id, community.id),
      ...recordStatements(context, row, { ban_id: banId, ends_at: input.ends_at }),
    },
    constraints: moderationConstraints,
  })
}

/**
 * Lifts a mute or a ban of a community.
 *
 * @throws NOT_FOUND, FORBIDDEN, CONFLICT for one that no longer holds
 */
export async function liftCommunityBan(
  context: ActionContext,
  actor: Actor,
  { community, id }: { community: string; id: string },
  { reason }: ReasonInput,
): Promise<IdempotentResult<ActionRow>> {
  const { db } = context
  const ban = await run(db, selectBan(id, actorReader(actor)))
  if (!ban || ban.communityName.toLowerCase() !== community.toLowerCase()) {
    throw moderationErrors.unknownBan()
  }
  const { accountId, activationId, idempotencyKey: key } = actor
  const { communityId } = ban
  const row = toActionRow(context, actor, {
    kind: 'lift',
    community: { id: communityId, name: ban.communityName },
    postId: null,
    commentId: null,
    banId: ban.id,
    reason,
    account: { id: ban.accountId, name: ban.accountName, kind: ban.accountKind },
  })
  const once = { accountId, key, action: 'bans.lift', input: { id, reason } }
  return runOnce(db, once, {
    now: row.createdAt,
    answer: row,
    statements: {
      guard: guardLift({ accountId, activationId, communityId, banId: id, now: row.createdAt }),
      lift: liftBan(id, row.createdAt),
      ...recordStatements(context, row, { ban_id: id }),
    },
    constraints: moderationConstraints,
  })
}
