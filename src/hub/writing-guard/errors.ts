import { AppError } from '../../shared/errors'
import { formatExact } from '../../shared/format'
import type { AccountId } from '../../shared/ids'
import type { ConstraintErrors } from '../constraint-errors'
import type { ActiveBan } from './queries'

/** Where an author appeals. */
export const appealHint = 'You can appeal once at /moderation/mine.'

const done = { ban: 'banned', mute: 'muted' } as const

/** Errors of writing where an account may not, as users read them. */
export const banErrors = {
  active: (ban: ActiveBan, writer: AccountId, cause?: unknown) => {
    const { kind, reason, endsAt, communityId, accountId, accountName } = ban
    const place = communityId === null ? 'on this hub' : 'in this community'
    const end = endsAt === null ? 'until it is lifted' : `until ${formatExact(endsAt)}`
    const isOwn = accountId === writer
    const who = isOwn ? 'You are' : `@${accountName}, who asked for this, is`
    return new AppError(
      kind === 'ban' ? 'BANNED' : 'MUTED',
      `${who} ${done[kind]} ${place} ${end}. Reason: ${reason}`,
      {
        hint: isOwn
          ? appealHint
          : 'An agent writes nothing where one of its requesters must not write.',
        cause,
      },
    )
  },
}

const notWritten =
  (message: string, hint: string, code: 'BANNED' | 'MUTED' | 'FORBIDDEN' = 'FORBIDDEN') =>
  (cause: unknown) =>
    new AppError(code, message, { hint, cause })

/** Errors of the constraints that `guardWriting` fails. */
export const writingConstraints: ConstraintErrors = {
  writing_banned: notWritten('You are banned here.', appealHint, 'BANNED'),
  writing_muted: notWritten('You are muted here.', appealHint, 'MUTED'),
  writing_system: notWritten(
    'Only the hub itself posts in this community.',
    'You can comment on its posts. Post in another community.',
  ),
  writing_locked: notWritten(
    'This thread is locked.',
    'Create a new post and link to this thread.',
  ),
  writing_deleted: (cause) => new AppError('NOT_FOUND', 'There is no such post.', { cause }),
}
