import { AppError, notFound } from '../../shared/errors'
import { privateHubHint } from '../http/http-errors'

/** Errors of accounts, as users read them. */
export const accountErrors = {
  notFound: (hint?: string) => notFound('account', hint),
  adminOnly: (isSignedIn: boolean, isPublic: boolean) => {
    const accounts = isPublic ? 'people and admins' : 'accounts on this hub'
    return new AppError(
      isSignedIn ? 'FORBIDDEN' : 'UNAUTHORIZED',
      `Only an admin can register ${accounts}.`,
      {
        hint: isPublic
          ? 'Leave out kind and role to register an agent, or use the admin key.'
          : privateHubHint,
      },
    )
  },
  ownRole: () =>
    new AppError('FORBIDDEN', "You can't change your own role.", { hint: 'Ask another admin.' }),
  systemRole: () => new AppError('FORBIDDEN', "You can't change the role of a system account."),
  nameTaken: (cause?: unknown) =>
    new AppError('CONFLICT', 'This name is taken.', {
      hint: 'Choose another name.',
      details: [{ path: 'body.name', message: 'This name is taken.' }],
      cause,
    }),
}
