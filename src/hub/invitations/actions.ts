import * as z from 'zod'
import { limits, peopleLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { optionalName } from '../../shared/texts'
import { accountName } from '../accounts/actions'
import { checkName } from '../accounts/check-name'
import { accountErrors } from '../accounts/errors'
import { selectStaffNames } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { insertAdminEntry } from '../admin-log/queries'
import { expireClaims } from '../claims/queries'
import { toConstraintError } from '../constraint-errors'
import type { Actor, Role } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { createSecret } from '../keys/actions'
import { accounts } from '../schema/accounts'
import { sha256 } from '../sha256'
import type { OpenedSession } from '../sign-in/actions'
import { guardAccess } from '../viewers/guard-access-queries'
import type { Viewer } from '../viewers/queries'
import { invitationErrors } from './errors'
import {
  acceptanceStatements,
  guardOpenCount,
  insertInvitation,
  revokeInvitation,
  selectIsRestricted,
} from './queries'

const DAY_MS = 86_400_000
const {
  invitationDaysDefault: daysDefault,
  invitationDaysMax: daysMax,
  noteCharsMax,
} = peopleLimits

export const invitationInput = knownFields({
  role: z.enum(accounts.role.enumValues).default('member'),
  expires_in_days: z.number().int().min(1).max(daysMax).default(daysDefault),
  note: z
    .string()
    .trim()
    .max(noteCharsMax)
    .default('')
    .describe('For whom it is; only those who can invite read it.'),
})

export const joinInput = z.object({
  name: accountName,
  display_name: optionalName.default(''),
})

export interface NewInvitation {
  id: string
  /** Of the link; returned only once. */
  token: string
  role: Role
  expiresAt: number
}

const roles = accounts.role.enumValues
type Inviter = Pick<Viewer, 'id' | 'role' | 'kind' | 'keyId'>

/** @throws FORBIDDEN for an account that cannot invite people */
export function requireInviter({ settings }: ActionContext, viewer: Omit<Inviter, 'keyId'>): void {
  const membersCan = settings.ROOKERY_MEMBERS_INVITE
  const isMember = viewer.role === 'member' && viewer.kind === 'human'
  if (viewer.role === 'admin' || (membersCan && isMember)) return
  throw invitationErrors.cannotInvite(membersCan)
}

/**
 * Creates an invitation: its link makes one person an account with the role.
 *
 * @throws FORBIDDEN for an account that cannot invite, or is banned or muted in a community, and for a role
 *   above its own; CONFLICT when it has too many invitations that can still be used
 */
export async function createInvitation(
  context: ActionContext,
  inviter: Inviter,
  actor: Pick<Actor, 'accountId' | 'idempotencyKey'>,
  input: z.output<typeof invitationInput>,
): Promise<IdempotentResult<NewInvitation>> {
  requireInviter(context, inviter)
  const { role, note } = input
  if (roles.indexOf(role) > roles.indexOf(inviter.role)) throw invitationErrors.higherRole()
  const { db, clock } = context
  const now = clock.now()
  if (await run(db, selectIsRestricted(inviter.id, now))) throw invitationErrors.restricted()
  const answer: NewInvitation = {
    id: clock.newId(),
    token: createSecret(''),
    role,
    expiresAt: now + input.expires_in_days * DAY_MS,
  }
  const { id, expiresAt } = answer
  const once = { ...actor, key: actor.idempotencyKey, action: 'invitations.create', input }
  return runOnce(db, once, {
    now,
    answer,
    isSecret: true,
    constraints: { access_invitations: invitationErrors.tooMany },
    statements: {
      guard: await guardAccess(context, inviter.keyId, { role: leastRole(context, role) }),
      limit: guardOpenCount(inviter.id, now),
      invitation: insertInvitation({
        id,
        hash: await sha256(answer.token),
        role,
        note,
        createdBy: inviter.id,
        createdAt: now,
        expiresAt,
      }),
      entry: insertAdminEntry({
        id: clock.newId(),
        accountId: inviter.id,
        action: 'invitation.create',
        targetType: 'invitation',
        targetId: id,
        after: { role, expires_at: new Date(expiresAt).toISOString() },
        createdAt: now,
      }),
    },
  })
}

/** The least role of an account that can invite somebody with a role. */
const leastRole = ({ settings }: ActionContext, role: Role): Role =>
  settings.ROOKERY_MEMBERS_INVITE && role !== 'admin' ? 'member' : 'admin'

/**
 * Withdraws an invitation that was not used. Members withdraw their own.
 *
 * @throws FORBIDDEN, NOT_FOUND
 */
export async function withdrawInvitation(
  context: ActionContext,
  inviter: Inviter,
  id: string,
): Promise<void> {
  requireInviter(context, inviter)
  const { db, clock } = context
  const createdBy = inviter.role === 'admin' ? null : inviter.id
  const entry = {
    id: clock.newId<string>(),
    accountId: inviter.id,
    action: 'invitation.revoke',
    targetType: 'invitation',
    targetId: id,
    createdAt: clock.now(),
  }
  const { isRevoked } = await batch(db, revokeInvitation({ id, createdBy }, entry))
  if (!isRevoked) throw invitationErrors.notFound()
}

/**
 * Accepts an invitation: creates the account of a person, and a browser session of it.
 *
 * @throws NOT_FOUND for an invitation that cannot be used any more, CONFLICT for a name that is taken or
 *   reserved; the invitation can still be used then
 */
export async function acceptInvitation(
  { db, clock, settings }: ActionContext,
  token: string,
  { name, display_name }: z.output<typeof joinInput>,
): Promise<OpenedSession> {
  const staff = await run(db, selectStaffNames())
  checkName(name, { hubName: settings.ROOKERY_NAME, staff, byAdmin: false })
  const now = clock.now()
  const id = clock.newId<AccountId>()
  const session = createSecret('')
  const expiresAt = now + limits.sessionDays * DAY_MS
  const statements = {
    expired: expireClaims(now),
    ...acceptanceStatements({
      hash: await sha256(token),
      membersInvite: settings.ROOKERY_MEMBERS_INVITE,
      account: { id, name, displayName: display_name || null },
      session: { id: clock.newId(), hash: await sha256(session), expiresAt },
      entryId: clock.newId(),
      now,
    }),
  }
  const { isAccepted } = await batch(db, statements).catch((error: unknown) => {
    throw toConstraintError(error, { 'accounts.name': accountErrors.nameTaken }) ?? error
  })
  if (!isAccepted) throw invitationErrors.unusable()
  return { token: session, expiresAt, accountId: id }
}
