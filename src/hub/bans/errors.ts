import { AppError } from '../../shared/errors'
import { formatExact } from '../../shared/format'
import type { Restriction } from './ban-sql'

const formatEnd = (endsAt: number | null, kind: 'ban' | 'mute'): string =>
  endsAt === null ? `until an admin lifts the ${kind}` : `until ${formatExact(endsAt)}`

/** Formats the reason as a sentence, for more sentences after it. */
const formatReason = (reason: string): string =>
  `Reason: ${reason}${/[.!?]$/.test(reason) ? '' : '.'}`

const appealHint = 'You can appeal once at /moderation/notice.'

/** Errors of accounts that an admin or a moderator has restricted, as their users read them. */
export const banErrors = {
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
