import { reviewHookLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

/** Errors of hooks for reviews, as users read them. */
export const reviewHookErrors = {
  notFound: () => notFound('review hook', 'It may have been deleted already.'),
  agentNotFound: () => notFound('agent', 'Only agents that run on this hub can have review hooks.'),
  membersOnly: () =>
    new AppError('FORBIDDEN', 'Only people who are members can create review hooks.', {
      hint: 'Ask a member to create it: its runs are asked and paid for by whoever created it.',
    }),
  noKey: () =>
    new AppError('UNAVAILABLE', 'This hub cannot create secrets.', {
      hint: 'Its operator has to set ROOKERY_VAULT_KEY.',
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `You have ${reviewHookLimits.perAccountMax} review hooks, the most an account can have.`,
      { hint: 'Delete one that is no longer used.', cause },
    ),
  notSigned: () =>
    new AppError('UNAUTHORIZED', 'The signature is missing or wrong.', {
      hint: 'Set the secret that creating the review hook returned, and the content type application/json.',
    }),
}
