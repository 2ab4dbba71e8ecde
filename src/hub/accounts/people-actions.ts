import * as z from 'zod'
import { limits, peopleLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { Actor } from '../contract/hub'
import { accountTag } from '../contract/live-event'
import { formatPolicyLine, parsePolicyLine } from '../contract/policy-line'
import type { ActionContext } from '../database/action-context'
import { insertAdminEntry, recordIfChanged } from '../database/admin-log-queries'
import { toConstraintError } from '../database/constraint-errors'
import { type IdempotentResult, runActionOnce, runOnce } from '../database/run-once'
import { refuseItemsFor } from '../inbox/stop-queries'
import { changeAccess, closeSockets } from '../live/live-publisher'
import { selectOwned } from '../rules/people-sql'
import { cancelActivation } from '../runs/actions'
import { adminAccountId } from '../schema/accounts'
import { createSignInLink, type Token } from '../sign-in/actions'
import { deleteIdentity } from '../sign-in/identity-queries'
import { closeKeySockets } from '../sign-in/key-actions'
import { selectOpenedWith } from '../sign-in/key-queries'
import { deletePasskey } from '../sign-in/passkey-queries'
import { insertBan } from '../viewers/ban-sql'
import { guardActor, selectAccountBlock } from '../viewers/queries'
import { findBlock } from '../viewers/reader'
import { accountName, isOrphan } from './actions'
import { accountErrors, checkName } from './names'
import {
  deleteSessions,
  deleteSessionsOfOwned,
  insertLinkNotice,
  liftBan,
  recordFormerName,
  revokeKey,
  selectPolicyLines,
  selectRunsFor,
  setDisabled,
  setName,
  setOwner,
  updatePolicyLines,
} from './people-queries'
import { type AccountRow, selectAccountByName } from './queries'

/** Errors of what admins do with accounts, as they read them. */
export const peopleErrors = {
  notFound: () => notFound('account', 'Check the spelling of the name.'),
  ownAccount: () =>
    new AppError('FORBIDDEN', "You can't do this to your own account.", {
      hint: 'Ask another admin.',
    }),
  systemAccount: () =>
    new AppError('FORBIDDEN', 'Accounts of the hub itself can’t be changed.', {
      hint: 'To replace the key of the admin account, change ROOKERY_ADMIN_KEY.',
    }),
  notYours: () =>
    new AppError(
      'FORBIDDEN',
      'Only admins delete accounts, and members the agents that they own.',
      {
        hint: 'Ask an admin of this hub.',
      },
    ),
  wordsByAdmin: () =>
    new AppError('FORBIDDEN', 'Only an admin can delete the words of an agent.', {
      hint: 'Delete the agent and keep its words, or ask an admin.',
    }),
  hostedName: () =>
    new AppError(
      'FORBIDDEN',
      'An agent of this hub can’t be renamed, because its definition sets its name.',
      { hint: 'Create an agent with the new name, and disable this one.' },
    ),
  keyNotFound: () => notFound('key', 'The key may have expired or been revoked already.'),
  signInNotFound: () =>
    notFound('passkey or linked account', 'It may have been deleted already. Reload the page.'),
  cannotSignIn: () =>
    new AppError('CONFLICT', 'This account cannot sign in.', {
      hint: 'It is disabled, banned, imported or not claimed yet.',
    }),
  banNotFound: () => notFound('ban or mute', 'The ban or mute may have ended already.'),
  pastEnd: () =>
    new AppError('VALIDATION', 'The end must be in the future.', {
      details: [{ path: 'body.ends_at', message: 'Must be in the future' }],
    }),
  wrongConfirmation: () =>
    new AppError('VALIDATION', 'The account was not deleted.', {
      hint: 'Type the name of the account to confirm.',
      details: [{ path: 'body.confirm', message: 'Must be the name of the account' }],
    }),
}

/**
 * Creates a sign-in link for an account, by default that of the admin key. The account is notified of a link
 * that another one creates.
 *
 * @param askedBy id of the key or session of the request; null for the admin key
 * @throws NOT_FOUND, FORBIDDEN for an account of the hub itself, CONFLICT for one that cannot sign in
 */
export async function createLinkFor(
  context: ActionContext,
  actor: Actor,
  askedBy: string | null,
  name: string | undefined,
): Promise<Token> {
  const account = name === undefined ? { id: adminAccountId } : await findLinked(context, name)
  const link = { askedBy, actor, minutes: limits.signInLinkHours * 60 }
  if (account.id === actor.accountId) {
    return createSignInLink(context, account.id, { ...link, needs: { isUnlimited: true } })
  }
  const { clock } = context
  const notice = insertLinkNotice({
    id: clock.newId(),
    accountId: account.id,
    now: clock.now(),
    by: { id: actor.accountId, name: actor.name },
  })
  return createSignInLink(context, account.id, { ...link, needs: { role: 'admin' }, notice })
}

async function findLinked({ db, clock }: ActionContext, name: string): Promise<AccountRow> {
  const account = await run(db, selectAccountByName({ name }))
  if (!account || account.deletedAt !== null) throw peopleErrors.notFound()
  if (account.kind === 'system') throw peopleErrors.systemAccount()
  const block = await run(db, selectAccountBlock(account.id, clock.now()))
  if (account.isImported || (block && findBlock(block))) throw peopleErrors.cannotSignIn()
  return account
}

/**
 * Returns the writes that replace a name in the lines of all policies. Without them, whoever takes the
 * name later would get its grants.
 *
 * @param to null: nobody; a line that held for the name alone goes
 */
export function renameInPolicies(
  policies: { accountId: string; allowed: string[] }[],
  from: string,
  to: string | null,
): Statement<void>[] {
  return policies.flatMap(({ accountId, allowed }) => {
    const after = allowed.flatMap((line) => renameInLine(line, from, to))
    const isSame =
      after.length === allowed.length && after.every((line, at) => line === allowed[at])
    return isSame ? [] : [updatePolicyLines(accountId, allowed, after)]
  })
}

function renameInLine(text: string, from: string, to: string | null): string[] {
  const line = parsePolicyLine(text)
  const isNamed = (group: string) => group.toLowerCase() === `@${from.toLowerCase()}`
  if (!line.holdsFor.some(isNamed)) return [text]
  const holdsFor = line.holdsFor.flatMap((group) =>
    isNamed(group) ? (to === null ? [] : [`@${to}`]) : [group],
  )
  return holdsFor.length === 0 ? [] : [formatPolicyLine({ ...line, holdsFor })]
}

/** Makes a change that ends what an account and those that it claimed read, and closes their sockets. */
export async function endReading<Result>(
  context: ActionContext,
  accountId: AccountId,
  change: () => Promise<Result>,
): Promise<Result> {
  const owned = await run(context.db, selectOwned(accountId))
  const tags = [accountId, ...owned.map(({ id }) => id)].map(accountTag)
  return changeAccess(context, tags, change)
}

/**
 * Cancels the runs that act for nobody but an account and those that it claimed, and the runs of those.
 * Runs that they share with others go on.
 */
export async function cancelRuns(
  context: ActionContext,
  actor: Actor,
  requester: AccountId,
): Promise<void> {
  const { runs } = await batch(context.db, { runs: selectRunsFor(requester) })
  for (const { id } of runs) {
    await cancelActivation(context, { ...actor, idempotencyKey: null }, true, id).catch(
      (error: unknown) => context.log.error('failed to cancel a run', { activation: id, error }),
    )
  }
}

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
  const account = await run(db, selectAccountByName({ name }))
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
): Promise<AccountRow> {
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
  return account
}

/**
 * Enables an account that was disabled. Its keys work again; people sign in again. An agent of this hub whose owner's
 * account was deleted then belongs to the admin: otherwise nobody's rights would bound what it may do.
 */
export async function enableAccount(
  context: ActionContext,
  actor: Actor,
  name: string,
): Promise<AccountRow> {
  const account = await findTarget(context, actor.accountId, name)
  const owner = isOrphan(account) ? actor.accountId : null
  const entry = { action: 'account.enable', ...(owner && { after: { owner } }) }
  await batch(context.db, {
    guard: await guardActor(context, actor, { role: 'admin' }),
    entry: insertAdminEntry(toEntry(context, actor, account, entry)),
    owner: owner && setOwner(account.id, owner),
    account: setDisabled(account.id, null),
  })
  return account
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
): Promise<AccountRow> {
  const account = await findTarget(context, actor.accountId, name)
  await batch(context.db, {
    entry: insertAdminEntry(toEntry(context, actor, account, { action: 'sessions.end' })),
    sessions: deleteSessions(account.id),
  })
  await closeSockets(context, [accountTag(account.id)])
  return account
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
): Promise<AccountRow> {
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
  return { ...account, name: input.name }
}

const deletions = { passkey: deletePasskey, identity: deleteIdentity }

/**
 * Deletes a passkey of an account, or unlinks an identity, and ends the sessions opened with it.
 *
 * @throws NOT_FOUND, FORBIDDEN for the admin's own account and for accounts of the hub itself
 */
export async function revokeSignIn(
  context: ActionContext,
  actor: Actor,
  name: string,
  way: { kind: keyof typeof deletions; id: string },
): Promise<void> {
  const account = await findTarget(context, actor.accountId, name)
  const { kind, id } = way
  const { opened, isDeleted } = await batch(context.db, {
    opened: selectOpenedWith(id),
    isDeleted: deletions[kind](account.id, id),
    entry: recordIfChanged(context, actor.accountId, {
      action: `${kind}.revoke`,
      targetType: 'account',
      targetId: account.id,
      after: { id },
    }),
  })
  if (!isDeleted) throw peopleErrors.signInNotFound()
  await closeKeySockets(context, opened)
}
