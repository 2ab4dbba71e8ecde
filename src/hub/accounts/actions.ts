import * as z from 'zod'
import { limits, peopleLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { sha256 } from '../../shared/sha256'
import { optionalName, shownText } from '../../shared/texts'
import { accountTag } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { type IdempotentResult, runOnce } from '../database/run-once'
import type { RegistrationMode } from '../http/hub-env'
import { changeAccess } from '../live/live-publisher'
import { selectOwned } from '../rules/people-sql'
import { accounts, adminAccountId } from '../schema/accounts'
import { createSecret } from '../sign-in/key-actions'
import { insertKey } from '../sign-in/key-queries'
import { guardAccess, type Viewer } from '../viewers/queries'
import { claimStatements, deleteClaim, expireClaims, insertClaim } from './claim-queries'
import { accountErrors, checkName } from './names'
import {
  type AccountRow,
  changeRoleStatements,
  insertAccount,
  lowerRoleOfOwned,
  selectAccountByName,
  selectStaffNames,
  updateAccount,
} from './queries'

/**
 * Whether an account is an agent of this hub that lost its owner: deleting the owner's account disables it and makes
 * it a guest. It belongs to the admin who enables it.
 */
export const isOrphan = ({
  kind,
  ownerId,
  role,
  model,
  disabledAt,
  deletedAt,
}: AccountRow): boolean =>
  kind === 'agent' &&
  model !== null &&
  ownerId === null &&
  role === 'guest' &&
  disabledAt !== null &&
  deletedAt === null

const HOUR_MS = 3_600_000

export const accountName = z
  .string()
  // The same names that shared/markdown/mention.ts recognizes; it treats two hyphens as a dash.
  .regex(
    /^[a-z0-9](?:[a-z0-9_]|-(?!-)){1,31}$/,
    'Must be 2 to 32 characters of a-z, 0-9, "_" and "-", begin with a letter or digit, and not contain "--"',
  )

export const registerInput = knownFields({
  name: accountName,
  description: z.string().max(limits.account.descriptionCharsMax).default(''),
  display_name: shownText.max(60).optional(),
  kind: z.enum(['agent', 'human']).default('agent'),
  role: z
    .enum(accounts.role.enumValues)
    .optional()
    .describe('Defaults to guest, or to member when an admin registers the account.'),
})
type RegisterInput = z.output<typeof registerInput>

export const profileInput = knownFields({
  description: z.string().max(limits.account.descriptionCharsMax).optional(),
  display_name: optionalName.nullable().optional(),
  metadata: z
    .record(z.string().max(100), z.unknown())
    .refine(
      (value) => JSON.stringify(value).length <= 8_000,
      'Must be at most 8,000 characters as JSON',
    )
    .optional(),
})

interface RegisteredAccount {
  id: AccountId
  name: string
  kind: 'agent' | 'human'
  displayName: string | null
  apiKey: string
  verificationCode: string
  /** Of the claim link; null for an account whose key works at once. */
  claimToken: string | null
}

/**
 * Returns whether only an admin can register this account: a person, a member or an admin on a public
 * hub, any account on one that is private or closed.
 */
export const needsAdmin = (mode: RegistrationMode, input: RegisterInput): boolean =>
  mode === 'private' ||
  mode === 'closed' ||
  input.kind === 'human' ||
  (input.role !== undefined && input.role !== 'guest')

/** Who registers an account. */
interface Registrar {
  accountId: AccountId
  keyId: string | null
  isAdmin: boolean
}

const guardRegistrar = async (context: ActionContext, requester: Registrar | null) =>
  requester?.isAdmin ? guardAccess(context, requester.keyId, { role: 'admin' }) : null

/**
 * Creates an account with its first key. Only the response contains the key; the hub stores its hash. By
 * claim, the key works after a member has opened the claim link; names that nobody claimed in time are
 * free again.
 *
 * @param requester null for an anonymous caller
 * @throws UNAUTHORIZED or FORBIDDEN when only an admin can register the account, CONFLICT when the name is
 * taken, reserved or confusable
 */
export async function registerAccount(
  context: ActionContext,
  requester: Registrar | null,
  input: RegisterInput,
  { mode, idempotencyKey }: { mode: RegistrationMode; idempotencyKey: string | null },
): Promise<IdempotentResult<RegisteredAccount>> {
  const { db, clock, settings } = context
  const byAdmin = requester?.isAdmin === true
  if (needsAdmin(mode, input) && !byAdmin) {
    throw accountErrors.adminOnly(requester !== null, mode)
  }
  const staff = byAdmin ? [] : await run(db, selectStaffNames())
  checkName(input.name, { hubName: settings.ROOKERY_NAME, staff, byAdmin })
  const now = clock.now()
  const id = clock.newId<AccountId>()
  const apiKey = createSecret(settings.ROOKERY_KEY_PREFIX)
  const hash = await sha256(apiKey)
  const answer: RegisteredAccount = {
    id,
    name: input.name,
    kind: input.kind,
    displayName: input.display_name ?? null,
    apiKey,
    verificationCode: `${input.name}-${id.slice(-4)}`,
    claimToken: mode === 'claim' && !byAdmin ? createSecret('') : null,
  }
  const { claimToken } = answer
  const statements = {
    guard: await guardRegistrar(context, requester),
    expired: expireClaims(now),
    account: insertAccount({
      id,
      name: input.name,
      kind: input.kind,
      role: input.role ?? (byAdmin ? 'member' : 'guest'),
      displayName: input.display_name ?? null,
      description: input.description,
      createdAt: now,
    }),
    key: insertKey({ id: clock.newId(), accountId: id, hash, kind: 'key', createdAt: now }),
    claim:
      claimToken === null
        ? null
        : insertClaim({
            accountId: id,
            hash: await sha256(claimToken),
            createdAt: now,
            expiresAt: now + peopleLimits.claimHours * HOUR_MS,
          }),
    entry: requester?.isAdmin
      ? recordAdminAction(context, requester.accountId, {
          action: 'account.register',
          targetType: 'account',
          targetId: id,
          after: { kind: input.kind, role: input.role ?? 'member' },
        })
      : null,
  }
  const accountId = requester?.accountId ?? ''
  const once = { accountId, key: idempotencyKey, action: 'register', input }
  return runOnce(db, once, {
    now,
    answer,
    statements,
    isSecret: true,
    constraints: { 'accounts.name': accountErrors.nameTaken },
  })
}

/** Updates the given profile fields of an account; an empty display name clears it. */
export async function updateProfile(
  { db }: ActionContext,
  accountId: AccountId,
  input: z.output<typeof profileInput>,
): Promise<void> {
  const fields = {
    ...(input.description === undefined ? {} : { description: input.description }),
    ...(input.display_name === undefined ? {} : { displayName: input.display_name || null }),
    ...(input.metadata === undefined ? {} : { metadata: input.metadata }),
  }
  if (Object.keys(fields).length > 0) await run(db, updateAccount(accountId, fields))
}

const roles = accounts.role.enumValues

export const roleInput = knownFields({ role: z.enum(roles) })

/**
 * Changes the role of an account, effective from its next request and from the next tool call that it
 * makes an agent do. A lower role closes its sockets and those of the agents that it claimed.
 *
 * @throws NOT_FOUND, FORBIDDEN for the admin's own account and for accounts of the hub itself, CONFLICT for an agent
 *   that lost its owner
 */
export async function changeRole(
  context: ActionContext,
  admin: Pick<Viewer, 'id' | 'keyId'>,
  name: string,
  { role }: z.output<typeof roleInput>,
): Promise<AccountRow> {
  const { db } = context
  const account = await run(db, selectAccountByName({ name }))
  if (!account || account.deletedAt !== null) throw accountErrors.notFound()
  if (account.id === admin.id) throw accountErrors.ownRole()
  if (account.kind === 'system' || account.id === adminAccountId) throw accountErrors.systemRole()
  if (isOrphan(account)) throw accountErrors.noOwner(account.name)
  const owned = await run(db, selectOwned(account.id))
  const isLower = roles.indexOf(role) < roles.indexOf(account.role)
  const watchers = isLower ? [account, ...owned].map(({ id }) => accountTag(id)) : []
  const guard = await guardAccess(context, admin.keyId, { role: 'admin' })
  await changeAccess(context, watchers, () =>
    batch(db, {
      guard,
      account: changeRoleStatements(account.id, role, context.clock.now()),
      agents: lowerRoleOfOwned(account.id, role, context.clock.now()),
      // Who gives an account a role vouches for it.
      claim: deleteClaim(account.id),
      entry: recordAdminAction(context, admin.id, {
        action: 'account.role',
        targetType: 'account',
        targetId: account.id,
        before: { role: account.role },
        after: { role },
      }),
    }),
  )
  return { ...account, role }
}

/** Errors of claims, as users read them. */
export const claimErrors = {
  unknown: () =>
    new AppError('NOT_FOUND', 'This claim link was used or has expired.', {
      hint: 'Register the account again for a new link.',
    }),
  signInRequired: () =>
    new AppError('UNAUTHORIZED', 'Sign in to claim an account.', {
      hint: 'Members of this hub can claim accounts.',
    }),
  membersOnly: () =>
    new AppError('FORBIDDEN', 'Only members can claim accounts.', {
      hint: 'Give the link to a member or an admin of this hub.',
    }),
  ownedClaimer: () =>
    new AppError('FORBIDDEN', 'A claimed account cannot claim others.', {
      hint: 'Give the link to the owner of this account.',
    }),
}

/** The role that a claimed account gets: at most the claimer's own. */
export const claimInput = knownFields({ role: z.enum(['guest', 'member']) })

/**
 * Makes a member the owner of the account of a claim link. From then on the key of the account works,
 * and its requests count against the owner's budget too.
 *
 * @throws FORBIDDEN for a guest or a claimed account, NOT_FOUND for a link that was used or has expired
 */
export async function claimAccount(
  context: ActionContext,
  claimer: Pick<Viewer, 'id' | 'keyId' | 'role' | 'ownerId'>,
  token: string,
  { role }: z.output<typeof claimInput>,
): Promise<void> {
  if (claimer.role === 'guest') throw claimErrors.membersOnly()
  if (claimer.ownerId !== null) throw claimErrors.ownedClaimer()
  const { db, clock } = context
  const { isClaimed } = await batch(db, {
    guard: await guardAccess(context, claimer.keyId, { role: 'member' }),
    ...claimStatements({
      hash: await sha256(token),
      claimer: claimer.id,
      role,
      entryId: clock.newId(),
      now: clock.now(),
    }),
  })
  if (!isClaimed) throw claimErrors.unknown()
}
