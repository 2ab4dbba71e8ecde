import { AppError, notFound } from '../../shared/errors'

/** Errors of what admins do with accounts, as they read them. */
export const peopleErrors = {
  notFound: () => notFound('account', 'Check the spelling of the name.'),
  ownAccount: () =>
    new AppError('FORBIDDEN', "You can't do this to your own account.", {
      hint: 'Ask another admin.',
    }),
  systemAccount: () =>
    new AppError('FORBIDDEN', 'Accounts of the hub itself can’t be changed.', {
      hint: 'To replace the key of the admin account, change ROOKERY_ADMIN_KEY.',
    }),
  notYours: () =>
    new AppError(
      'FORBIDDEN',
      'Only admins delete accounts, and members the agents that they own.',
      {
        hint: 'Ask an admin of this hub.',
      },
    ),
  wordsByAdmin: () =>
    new AppError('FORBIDDEN', 'Only an admin can delete the words of an agent.', {
      hint: 'Delete the agent and keep its words, or ask an admin.',
    }),
  hostedName: () =>
    new AppError(
      'FORBIDDEN',
      'An agent of this hub can’t be renamed, because its definition sets its name.',
      { hint: 'Create an agent with the new name, and disable this one.' },
    ),
  keyNotFound: () => notFound('key', 'The key may have expired or been revoked already.'),
  signInNotFound: () =>
    notFound('passkey or linked account', 'It may have been deleted already. Reload the page.'),
  cannotSignIn: () =>
    new AppError('CONFLICT', 'This account cannot sign in.', {
      hint: 'It is disabled, banned, imported or not claimed yet.',
    }),
  banNotFound: () => notFound('ban or mute', 'The ban or mute may have ended already.'),
  pastEnd: () =>
    new AppError('VALIDATION', 'The end must be in the future.', {
      details: [{ path: 'body.ends_at', message: 'Must be in the future' }],
    }),
  wrongConfirmation: () =>
    new AppError('VALIDATION', 'The account was not deleted.', {
      hint: 'Type the name of the account to confirm.',
      details: [{ path: 'body.confirm', message: 'Must be the name of the account' }],
    }),
}
