import * as z from 'zod'
import { peopleLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import { accountName } from '../accounts/actions'
import { checkName } from '../accounts/check-name'
import { accountErrors } from '../accounts/errors'
import { isOrphan } from '../accounts/is-orphan'
import { type AccountRow, selectAccountByName } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { insertAdminEntry } from '../admin-log/queries'
import { toConstraintError } from '../constraint-errors'
import type { Actor } from '../contract/hub'
import { accountTag } from '../contract/live-event'
import { type IdempotentResult, runActionOnce, runOnce } from '../idempotency/run-once'
import { refuseItemsFor } from '../inbox/stopped-queries'
import { closeKeySockets } from '../keys/actions'
import { selectOpenedWith } from '../keys/queries'
import { closeSockets } from '../live/close-sockets'
import { adminAccountId } from '../schema/accounts'
import { guardActor } from '../viewers/guard-access-queries'
import { cancelRuns, endReading } from './end-access'
import { peopleErrors } from './errors'
import {
  deleteSessions,
  deleteSessionsOfOwned,
  insertBan,
  liftBan,
  recordFormerName,
  revokeKey,
  selectPolicyLines,
  setDisabled,
  setName,
  setOwner,
} from './queries'
import { renameInPolicies } from './rename-in-policies'

export const reasonInput = knownFields({
  reason: z.string().trim().max(peopleLimits.reasonCharsMax).default(''),
})

export const banInput = knownFields({
  kind: z.enum(['ban', 'mute']),
  reason: shownText.max(peopleLimits.reasonCharsMax),
  ends_at: z.iso.datetime().nullable().default(null).describe('Null: until an admin lifts it.'),
})

export const nameInput = knownFields({ name: accountName })

/**
 * Returns an account that an admin may deal with.
 *
 * @throws NOT_FOUND, FORBIDDEN for the admin's own account and for accounts of the hub itself
 */
export async function findTarget(
  { db }: ActionContext,
  admin: AccountId,
  name: string,
): Promise<AccountRow> {
  const account = await run(db, selectAccountByName(name))
  if (!account || account.deletedAt !== null) throw peopleErrors.notFound()
  if (account.id === admin) throw peopleErrors.ownAccount()
  if (account.kind === 'system' || account.id === adminAccountId) {
    throw peopleErrors.systemAccount()
  }
  return account
}

/** Returns the admin entry of an action on an account. */
export const toEntry = (
  { clock }: ActionContext,
  { accountId }: Pick<Actor, 'accountId'>,
  target: Pick<AccountRow, 'id'>,
  entry: {
    action: string
    reason?: string
    before?: Record<string, unknown>
    after?: Record<string, unknown>
  },
) => ({
  ...entry,
  id: clock.newId<string>(),
  accountId,
  targetType: 'account',
  targetId: target.id,
  createdAt: clock.now(),
})

/**
 * Disables an account: from its next request on it can do nothing, and neither can the agents that it
 * claimed. Their browser sessions and sockets end, what agents do for them alone is cancelled, and their
 * waiting mentions are refused.
 */
export async function disableAccount(
  context: ActionContext,
  actor: Actor,
  name: string,
  { reason }: z.output<typeof reasonInput>,
): Promise<void> {
  const account = await findTarget(context, actor.accountId, name)
  const now = context.clock.now()
  await endReading(context, account.id, () =>
    batch(context.db, {
      entry: insertAdminEntry(
        toEntry(context, actor, account, { action: 'account.disable', reason }),
      ),
      account: setDisabled(account.id, now),
      sessions: deleteSessions(account.id),
      agents: deleteSessionsOfOwned(account.id),
      items: refuseItemsFor(account.id),
    }),
  )
  await cancelRuns(context, actor, account.id)
}

/**
 * Enables an account that was disabled. Its keys work again; people sign in again. An agent of this hub whose owner's
 * account was deleted then belongs to the admin: otherwise nobody's rights would bound what it may do.
 */
export async function enableAccount(
  context: ActionContext,
  actor: Actor,
  name: string,
): Promise<void> {
  const account = await findTarget(context, actor.accountId, name)
  const owner = isOrphan(account) ? actor.accountId : null
  const entry = { action: 'account.enable', ...(owner && { after: { owner } }) }
  await batch(context.db, {
    guard: await guardActor(context, actor, { role: 'admin' }),
    entry: insertAdminEntry(toEntry(context, actor, account, entry)),
    owner: owner && setOwner(account.id, owner),
    account: setDisabled(account.id, null),
  })
}

/**
 * Bans an account from the hub, or mutes it: a muted account reads and votes, and writes nothing. What
 * agents do for it alone is cancelled, and what waits for them is refused.
 *
 * @returns the id of the ban
 * @throws VALIDATION for an end in the past
 */
export async function restrictAccount(
  context: ActionContext,
  actor: Actor,
  name: string,
  { kind, reason, ends_at }: z.output<typeof banInput>,
): Promise<string> {
  const account = await findTarget(context, actor.accountId, name)
  const { db, clock } = context
  const now = clock.now()
  const endsAt = ends_at === null ? null : Date.parse(ends_at)
  if (endsAt !== null && endsAt <= now) throw peopleErrors.pastEnd()
  const id = clock.newId<string>()
  const after = { id, ends_at }
  const { accountId, idempotencyKey: key } = actor
  // Without the end: a form gives it in days from now.
  const once = { accountId, key, action: 'account.restrict', input: { name, kind, reason } }
  const restrict = () =>
    runOnce(db, once, {
      now,
      answer: id,
      statements: {
        entry: insertAdminEntry(
          toEntry(context, actor, account, { action: `account.${kind}`, reason, after }),
        ),
        ban: insertBan({
          id,
          accountId: account.id,
          kind,
          reason,
          createdBy: actor.accountId,
          createdAt: now,
          endsAt,
        }),
        items: refuseItemsFor(account.id),
      },
    })
  const done = await (kind === 'ban' ? endReading(context, account.id, restrict) : restrict())
  await cancelRuns(context, actor, account.id)
  return done.answer
}

/** Lifts a ban or a mute, and returns its id. @throws NOT_FOUND */
export function liftRestriction(
  context: ActionContext,
  actor: Actor,
  name: string,
  banId: string,
): Promise<IdempotentResult<string>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'account.lift', input: { name, banId } }
  return runActionOnce(db, once, clock.now(), async () => {
    const account = await findTarget(context, accountId, name)
    const entry = toEntry(context, actor, account, { action: 'account.lift', after: { id: banId } })
    const { isLifted } = await batch(db, {
      guard: await guardActor(context, actor, { role: 'admin' }),
      ...liftBan(account.id, banId, entry),
    })
    if (!isLifted) throw peopleErrors.banNotFound()
    return banId
  })
}

/** Ends all browser sessions and sign-in links of an account. */
export async function endSessions(
  context: ActionContext,
  actor: Actor,
  name: string,
): Promise<void> {
  const account = await findTarget(context, actor.accountId, name)
  await batch(context.db, {
    entry: insertAdminEntry(toEntry(context, actor, account, { action: 'sessions.end' })),
    sessions: deleteSessions(account.id),
  })
  await closeSockets(context, [accountTag(account.id)])
}

/** Revokes a key with the sessions opened with it, or ends one session. @throws NOT_FOUND */
export async function revokeAccountKey(
  context: ActionContext,
  actor: Actor,
  name: string,
  keyId: string,
): Promise<void> {
  const account = await findTarget(context, actor.accountId, name)
  const entry = toEntry(context, actor, account, { action: 'key.revoke', after: { id: keyId } })
  const { isRevoked, opened } = await batch(context.db, {
    opened: selectOpenedWith(keyId),
    ...revokeKey(account.id, keyId, entry),
  })
  if (!isRevoked) throw peopleErrors.keyNotFound()
  await closeKeySockets(context, opened)
}

/**
 * Gives an account another name, and frees the old one. Links to the old name lead to the account until
 * somebody takes it; lines of policies for the name follow the account.
 *
 * @throws CONFLICT for a name that is taken; FORBIDDEN for a hosted agent
 */
export async function renameAccount(
  context: ActionContext,
  actor: Actor,
  name: string,
  input: z.output<typeof nameInput>,
): Promise<void> {
  const { db, clock, settings } = context
  const account = await findTarget(context, actor.accountId, name)
  if (account.model !== null) throw peopleErrors.hostedName()
  checkName(input.name, { hubName: settings.ROOKERY_NAME, staff: [], byAdmin: true })
  const policies = await run(db, selectPolicyLines())
  const former = { name: account.name, accountId: account.id, createdAt: clock.now() }
  const change = { before: { name: account.name }, after: { name: input.name } }
  await batch(db, {
    entry: insertAdminEntry(
      toEntry(context, actor, account, { action: 'account.rename', ...change }),
    ),
    account: setName(account.id, input.name),
    former: recordFormerName(former, input.name),
    policies: renameInPolicies(policies, account.name, input.name),
  }).catch((error: unknown) => {
    throw toConstraintError(error, { 'accounts.name': accountErrors.nameTaken }) ?? error
  })
}
