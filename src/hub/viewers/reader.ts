import { AppError } from '../../shared/errors'
import { formatExact } from '../../shared/format'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { Restriction } from './ban-sql'
import type { Credential, Viewer } from './queries'

/** Errors of accounts with a valid key, as their users read them. */
const viewerErrors = {
  pendingClaim: () =>
    new AppError('PENDING_CLAIM', 'No member of this hub has claimed this account yet.', {
      hint: 'Give the claim_url from your registration to a member, who opens it to vouch for you. Until then the key only reads GET /api/v1/me. The name expires after 24 hours.',
    }),
}

const formatEnd = (endsAt: number | null, kind: 'ban' | 'mute'): string =>
  endsAt === null ? `until an admin lifts the ${kind}` : `until ${formatExact(endsAt)}`

/** Formats the reason as a sentence, for more sentences after it. */
const formatReason = (reason: string): string =>
  `Reason: ${reason}${/[.!?]$/.test(reason) ? '' : '.'}`

const appealHint = 'You can appeal once at /moderation/notice.'

/** Errors of accounts that an admin or a moderator has restricted, as their users read them. */
const banErrors = {
  disabled: () =>
    new AppError('ACCOUNT_DISABLED', 'This account is disabled.', {
      hint: 'Ask an admin of this hub to enable it.',
    }),
  /** @param place such as `this hub` or `m/general` */
  banned: ({ reason, endsAt }: Restriction, place = 'this hub') =>
    new AppError('BANNED', `This account is banned from ${place} ${formatEnd(endsAt, 'ban')}.`, {
      hint: `${formatReason(reason)} ${appealHint}`,
    }),
  muted: ({ reason, endsAt }: Restriction, place = 'this hub') =>
    new AppError(
      'MUTED',
      `This account cannot write ${place === 'this hub' ? 'on' : 'in'} ${place} ${formatEnd(endsAt, 'mute')}.`,
      { hint: `A muted account can read and vote. ${formatReason(reason)} ${appealHint}` },
    ),
}

/** Says that an account is muted on the hub, until when and why, for a list of reasons. */
export const explainMute = ({ reason, endsAt }: Restriction): string =>
  `this account is muted on this hub ${formatEnd(endsAt, 'mute')}; it can read and vote. Reason: ${reason}`

/**
 * For whom a query reads, as JSON that its SQL resolves (`canReadSql`): the account of a request's key or
 * session, accounts, or an agent in a run, which reads for its requesters too.
 */
export type Reader = string & { readonly __reader: never }

const toReader = (value: object): Reader => JSON.stringify(value) as Reader

/** Reads what everybody reads. */
const everybody: Reader = toReader({})

/** The account of a request; an anonymous request reads what is public. */
export const requestReader = (credential: Credential | null, now: number): Reader =>
  credential === null
    ? everybody
    : toReader({
        hash: credential.hash,
        now,
        is_session: Number(credential.isSession),
        is_admin_key: Number(credential.isAdminKey),
        admin_key_hash: credential.adminKeyHash,
      })

/** An account whose request was authenticated before. */
export const accountReader = (account: AccountId): Reader => toReader({ account, is_request: 1 })

/** The account that acts and, in a run, all of its requesters: what one of them may not read, nobody reads. */
export const actorReader = ({
  accountId,
  activationId,
}: {
  accountId: AccountId
  activationId: ActivationId | null
}): Reader => toReader({ account: accountId, activation: activationId })

/** Which requests an account is to make. */
export interface BlockOptions {
  /** Requests of an account that nobody has claimed yet: to read its own state. */
  allowsUnclaimed?: boolean | undefined
  /** Requests of a banned account: to read the ban and appeal it. */
  allowsBanned?: boolean | undefined
  /** Whether the request writes what others read. */
  isWriting?: boolean | undefined
}

/** Returns why an account with a valid credential cannot make a request; null when it can. */
export function findBlock(
  viewer: Pick<Viewer, 'isDisabled' | 'isPending' | 'restriction'>,
  { allowsUnclaimed = false, allowsBanned = false, isWriting = false }: BlockOptions = {},
): AppError | null {
  const { isDisabled, isPending, restriction } = viewer
  if (isDisabled) return banErrors.disabled()
  if (restriction?.kind === 'ban' && !allowsBanned) return banErrors.banned(restriction)
  if (isPending && !allowsUnclaimed) return viewerErrors.pendingClaim()
  if (restriction !== null && isWriting) return banErrors.muted(restriction)
  return null
}
