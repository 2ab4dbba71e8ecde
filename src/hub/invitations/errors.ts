import { peopleLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

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
  higherRole: () =>
    new AppError('FORBIDDEN', "An invitation can't have a higher role than yours.", {
      details: [{ path: 'body.role', message: 'Must be at most your own role' }],
    }),
}
