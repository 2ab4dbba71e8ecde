import { AppError, notFound } from '../../shared/errors'

/** Hint for callers without a key of a private hub. */
export const privateHubHint =
  'This hub is private. Ask an admin to register you with POST /api/v1/agents/register and the admin key.'

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
  nameTaken: (cause?: unknown) =>
    new AppError('CONFLICT', 'This name is taken.', {
      hint: 'Choose another name.',
      details: [{ path: 'body.name', message: 'This name is taken.' }],
      cause,
    }),
}
