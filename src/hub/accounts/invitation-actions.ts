import * as z from 'zod'
import { limits, peopleLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { sha256 } from '../../shared/sha256'
import { optionalName } from '../../shared/texts'
import type { Actor, Role } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { insertAdminEntry } from '../database/admin-log-queries'
import { toConstraintError } from '../database/constraint-errors'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { optionalAddress } from '../mail/addresses'
import { queueInvitation } from '../mail/queue-queries'
import { deferMail } from '../mail/send-actions'
import { toPurpose } from '../mail/tokens'
import { accounts } from '../schema/accounts'
import type { OpenedSession } from '../sign-in/actions'
import { createSecret } from '../sign-in/key-actions'
import { guardAccess, type Viewer } from '../viewers/queries'
import { accountName } from './actions'
import { expireClaims } from './claim-queries'
import {
  acceptanceStatements,
  guardOpenCount,
  type InvitationRow,
  insertInvitation,
  revokeInvitation,
  selectIsRestricted,
} from './invitation-queries'
import { accountErrors, checkName } from './names'
import { selectStaffNames } from './queries'

/** Errors of invitations, as users read them. */
export const invitationErrors = {
  notFound: () => notFound('invitation', 'The invitation may have been used or withdrawn already.'),
  unusable: () =>
    new AppError('NOT_FOUND', 'This invitation was used or withdrawn, or has expired.', {
      hint: 'Ask the person who sent the link for a new invitation.',
    }),
  cannotInvite: (membersCan: boolean) =>
    new AppError(
      'FORBIDDEN',
      `Only ${membersCan ? 'members and admins' : 'admins'} can invite people.`,
      {
        hint: 'Ask an admin of this hub.',
      },
    ),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `You have ${peopleLimits.openInvitationsMax} invitations that can still be used, the most an account can have.`,
      { hint: 'Withdraw some of them, or wait until they are used.', cause },
    ),
  restricted: () =>
    new AppError('FORBIDDEN', "You can't invite people while you are banned or muted anywhere.", {
      hint: 'Appeal at /moderation/mine, or wait until it ends.',
    }),
  noMail: () =>
    new AppError('UNAVAILABLE', 'This hub sends no mail.', {
      hint: 'Leave the address empty, and send the link yourself.',
    }),
  higherRole: () =>
    new AppError('FORBIDDEN', "An invitation can't have a higher role than yours.", {
      details: [{ path: 'body.role', message: 'Must be at most your own role' }],
    }),
}

export const invitationStates = ['open', 'used', 'withdrawn', 'expired'] as const
export type InvitationState = (typeof invitationStates)[number]

export function findInvitationState(
  { usedAt, revokedAt, expiresAt }: Pick<InvitationRow, 'usedAt' | 'revokedAt' | 'expiresAt'>,
  now: number,
): InvitationState {
  if (usedAt !== null) return 'used'
  if (revokedAt !== null) return 'withdrawn'
  return expiresAt <= now ? 'expired' : 'open'
}

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

/** The form of an invitation, whose link can be mailed. */
export const mailedInvitationInput = invitationInput.extend({ address: optionalAddress })

export const joinInput = z.object({
  name: accountName,
  display_name: optionalName.default(''),
})

interface NewInvitation {
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
 * @param to address that the link is mailed to; null: it is only returned
 * @throws UNAVAILABLE for an address without a mail server, FORBIDDEN for an account that cannot invite, or is banned or muted in a community, and for a role
 *   above its own; CONFLICT when it has too many invitations that can still be used
 */
export async function createInvitation(
  context: ActionContext,
  inviter: Inviter,
  actor: Pick<Actor, 'accountId' | 'idempotencyKey'>,
  input: z.output<typeof invitationInput>,
  to: string | null = null,
): Promise<IdempotentResult<NewInvitation>> {
  requireInviter(context, inviter)
  const { role, note } = input
  if (roles.indexOf(role) > roles.indexOf(inviter.role)) throw invitationErrors.higherRole()
  const { db, clock, mail } = context
  if (to !== null && mail.problem !== null) throw invitationErrors.noMail()
  const now = clock.now()
  if (await run(db, selectIsRestricted(inviter.id, now))) throw invitationErrors.restricted()
  const invitationId = clock.newId<string>()
  const answer: NewInvitation = {
    id: invitationId,
    // Mail is sent later: its token is made again then, and stored nowhere.
    token:
      to === null ? createSecret('') : await mail.createToken(toPurpose.invitation(invitationId)),
    role,
    expiresAt: now + input.expires_in_days * DAY_MS,
  }
  const { id, expiresAt } = answer
  const once = {
    ...actor,
    key: actor.idempotencyKey,
    action: 'invitations.create',
    input: to === null ? input : { ...input, to },
  }
  const done = await runOnce(db, once, {
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
      isMailed:
        to === null
          ? null
          : queueInvitation({ id: clock.newId(), invitationId: id, address: to, now }),
    },
  })
  deferMail(context, done.results?.isMailed ?? false)
  return done
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
