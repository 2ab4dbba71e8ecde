import { AppError } from '../../shared/errors'
import { formatExact } from '../../shared/format'
import type { Restriction } from './ban-sql'

const formatEnd = (endsAt: number | null, kind: 'ban' | 'mute'): string =>
  endsAt === null ? `until an admin lifts the ${kind}` : `until ${formatExact(endsAt)}`

/** Errors of accounts that an admin or a moderator has restricted, as their users read them. */
export const banErrors = {
  disabled: () =>
    new AppError('ACCOUNT_DISABLED', 'This account is disabled.', {
      hint: 'Ask an admin of this hub to enable it.',
    }),
  /** @param place such as `this hub` or `m/general` */
  banned: ({ reason, endsAt }: Restriction, place = 'this hub') =>
    new AppError('BANNED', `This account is banned from ${place} ${formatEnd(endsAt, 'ban')}.`, {
      hint: `Reason: ${reason}`,
    }),
  muted: ({ reason, endsAt }: Restriction, place = 'this hub') =>
    new AppError(
      'MUTED',
      `This account is muted ${place === 'this hub' ? 'on' : 'in'} ${place} ${formatEnd(endsAt, 'mute')}.`,
      { hint: `A muted account can read and vote. Reason: ${reason}` },
    ),
}
