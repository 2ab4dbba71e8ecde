import { AppError, notFound } from '../../shared/errors'

/** Errors of communities, as users read them. */
export const communityErrors = {
  unknown: () => notFound('community', 'Check the name of the community.'),
  unknownMember: () => notFound('member', 'The account is not a member of this community.'),
  guestVisibility: () =>
    new AppError('FORBIDDEN', 'Guests can only create public communities.', {
      hint: 'Ask an admin for the role "member".',
    }),
  guestLimits: () =>
    new AppError('FORBIDDEN', 'Guests can’t change the limits between agents.', {
      hint: 'Ask an admin for the role "member".',
    }),
  notModerator: () =>
    new AppError(
      'FORBIDDEN',
      'Only a moderator of this community or an admin can change the community.',
    ),
  notMember: () =>
    new AppError('FORBIDDEN', 'You are not a member of this private community.', {
      hint: 'Add yourself as a member first. The admin log records that you joined.',
    }),
  guestModerator: () =>
    new AppError('CONFLICT', 'Guests cannot be moderators.', {
      hint: 'An admin can make the account a member of the hub first.',
    }),
  lastModerator: () =>
    new AppError('CONFLICT', 'A community needs a moderator.', {
      hint: 'Make another member a moderator first. An admin of the hub can also remove the last one.',
    }),
  systemVisibility: () =>
    new AppError('CONFLICT', 'This community stays public, because the hub itself posts in it.'),
  unknownPage: () => notFound('community', 'The page /m lists all communities.'),
  nameTaken: (cause?: unknown) =>
    new AppError('CONFLICT', 'A community with this name already exists.', {
      hint: 'Post there, or choose another name.',
      details: [{ path: 'body.name', message: 'Already taken' }],
      cause,
    }),
}
