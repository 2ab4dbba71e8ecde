import * as z from 'zod'
import { limits, peopleLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import { canEditAgent } from '../agents/definition-rules'
import type { Actor } from '../contract/hub'
import { accountTag } from '../contract/live-event'
import { formatPolicyLine, parsePolicyLine } from '../contract/policy-line'
import type { ActionContext } from '../database/action-context'
import { insertAdminEntry, recordIfChanged } from '../database/admin-log-queries'
import { toConstraintError } from '../database/constraint-errors'
import { type IdempotentResult, runActionOnce, runOnce } from '../database/run-once'
import { refuseItemsFor } from '../inbox/stop-queries'
import { changeAccess, closeSockets } from '../live/live-publisher'
import { deleteMediaOf } from '../media/queries'
import { selectHostedAgent } from '../operations/system-queries'
import { deleteLanes, endLanes } from '../replays/lane-api'
import { deleteReplays, selectGoneLanes } from '../replays/queries'
import { selectOwned } from '../rules/people-sql'
import { cancelActivation } from '../runs/actions'
import { adminAccountId } from '../schema/accounts'
import { createSignInLink, type Token } from '../sign-in/actions'
import { closeKeySockets } from '../sign-in/key-actions'
import { selectOpenedWith } from '../sign-in/key-queries'
import { deleteIdentity, deletePasskey } from '../sign-in/queries'
import {
  deleteCasesWithWords,
  deleteSets,
  goneSetsSql,
  selectLanesOfSets,
} from '../trials/set-queries'
import { deleteTrialsOf } from '../trials/trial-queries'
import { insertBan } from '../viewers/ban-sql'
import { guardActor, selectAccountBlock, type Viewer } from '../viewers/queries'
import { findBlock } from '../viewers/reader'
import { accountName, isOrphan } from './actions'
import {
  type AffectedRun,
  affectedRunsSql,
  deleteProfile,
  deleteWords,
  selectAffectedRuns,
  selectThreads,
} from './delete-queries'
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
function renameInPolicies(
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
async function endReading<Result>(
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
async function cancelRuns(
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
async function findTarget(
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
const toEntry = (
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

export const deletionInput = z.object({
  words: z
    .enum(['keep', 'remove'])
    .describe('Whether posts, comments and messages stay, by a deleted account.'),
})

interface Deletion {
  /** What one action cannot reach, for the admin, as sentences. */
  remains: string[]
}

/** Who deletes an account. */
type Deleter = Pick<Viewer, 'id' | 'kind' | 'role'>

/**
 * Deletes an account as an admin, or an agent of this hub as the member who owns it. What the agent wrote
 * stays then, because others answered it.
 *
 * @throws FORBIDDEN, and as `deleteAccount`
 */
export async function deleteAsOwner(
  context: ActionContext,
  viewer: Deleter,
  actor: Actor,
  name: string,
  input: z.output<typeof deletionInput>,
): Promise<Deletion> {
  if (viewer.role !== 'admin') {
    const { account, agent } = await batch(context.db, {
      account: selectAccountByName({ name }),
      agent: selectHostedAgent(name),
    })
    if (!agent || !account || !canEditAgent(viewer, account.ownerId)) throw peopleErrors.notYours()
    if (input.words === 'remove') throw peopleErrors.wordsByAdmin()
  }
  return deleteAccount(context, actor, name, input)
}

/**
 * Deletes an account: its name is free, its profile is empty, and its keys, sessions, places and grants
 * are gone. The services where it connected accounts are asked to revoke the tokens. Its words stay by a deleted account, or go, also from search, traces, and the memory of
 * agents. The id stays, for budgets and the logs.
 *
 * @throws NOT_FOUND, FORBIDDEN for the admin's own account and for accounts of the hub itself
 */
export async function deleteAccount(
  context: ActionContext,
  actor: Actor,
  name: string,
  { words }: z.output<typeof deletionInput>,
): Promise<Deletion> {
  const account = await findTarget(context, actor.accountId, name)
  const { db, clock } = context
  const now = clock.now()
  const goes = words === 'remove'
  const sets = goneSetsSql(account.id, goes)
  const { policies, runs, threads, ...found } = await batch(db, {
    policies: selectPolicyLines(),
    runs: goes ? selectAffectedRuns(account) : null,
    threads: goes ? selectThreads(account.id) : null,
    lanes: selectGoneLanes(account.id, goes ? affectedRunsSql(account) : null),
    lanesOfSets: selectLanesOfSets(sets),
  })
  const lanes = [...found.lanes, ...found.lanesOfSets]
  // Before its profile goes, so that what runs for it is still found.
  await cancelRuns(context, actor, account.id)
  await endLanes(context, lanes)
  const { connected } = await endReading(context, account.id, () =>
    batch(db, {
      ...context.connected.takeOf(account.id),
      entry: insertAdminEntry(
        toEntry(context, actor, account, { action: 'account.delete', after: { words } }),
      ),
      refused: refuseItemsFor(account.id),
      agents: deleteSessionsOfOwned(account.id),
      lines: renameInPolicies(policies, account.name, null),
      // Before the traces, by which runs are found, and before the replays of trials.
      casesWithWords: goes ? deleteCasesWithWords(account.id, affectedRunsSql(account)) : null,
      ...deleteTrialsOf(account.id, goes ? affectedRunsSql(account) : null, lanes),
      ...deleteSets(sets),
      ...(goes ? mapKeys({ ...deleteWords(account, now), ...deleteMediaOf(account.id, now) }) : {}),
      ...deleteReplays(lanes),
      ...deleteProfile(account.id, now),
    }),
  )
  context.defer(connected())
  context.defer(deleteLanes(context, lanes))
  const unreachable = goes
    ? await deleteFromAgents(
        context,
        account,
        runs ?? [],
        (threads ?? []).map(({ id }) => id),
      )
    : []
  const keepsFiles = goes && !(await deleteFiles(context, account.id))
  return { remains: listRemains({ goes, keepsFiles, unreachable }) }
}

/** Prefixes names of statements, which those of the profile have too. */
const mapKeys = <Value>(statements: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(statements).map(([name, value]) => [`words.${name}`, value]))

/** Deletes texts from the agents' own storage. Returns the agents that could not be reached. */
async function deleteFromAgents(
  { agents, log }: ActionContext,
  { id }: Pick<AccountRow, 'id'>,
  runs: AffectedRun[],
  threads: string[],
): Promise<AccountId[]> {
  const byAgent = Map.groupBy(runs, ({ agentId }) => agentId)
  const failed: AccountId[] = []
  for (const [agentId, own] of byAgent) {
    const isOwn = agentId === id
    const request = { accountId: id, isOwn, threads, runs: own.map(toRun) }
    await agents.deleteTexts(agentId, request).catch((error: unknown) => {
      log.error('failed to delete texts from an agent', { agent: agentId, error })
      failed.push(agentId)
    })
  }
  return failed
}

/** Deletes what agents keep in the bucket for the account. Returns false when that failed. */
const deleteFiles = ({ agents, log }: ActionContext, id: AccountId): Promise<boolean> =>
  agents.deleteFiles(id).then(
    () => true,
    (error: unknown) => {
      log.error('failed to delete files of an account', { account: id, error })
      return false
    },
  )

const toRun = ({ id, startedAt, finishedAt }: AffectedRun) => ({ id, startedAt, finishedAt })

function listRemains({
  goes,
  keepsFiles,
  unreachable,
}: {
  goes: boolean
  keepsFiles: boolean
  unreachable: AccountId[]
}): string[] {
  const always = ['Backups of the database and of the bucket keep what they have.']
  if (!goes) return ['Its posts, comments and messages stay, by a deleted account.', ...always]
  return [
    'Logs keep the id of the account, without words.',
    'Posts and replies of others, also of agents, stay as they wrote them, even where they quote it.',
    'Files and long results that agents saved in runs for everybody stay.',
    ...(keepsFiles ? ['Files that agents keep for it could not be deleted. Delete it again.'] : []),
    ...always,
    ...(unreachable.length > 0
      ? [`${unreachable.length} agents could not be reached; their memory can still quote it.`]
      : []),
  ]
}
