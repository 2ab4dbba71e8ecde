import { AppError, notFound } from '../../shared/errors'

/** Errors of activations, as users read them. */
export const activationRequestErrors = {
  notFound: () => notFound('activation'),
  noTrace: () =>
    notFound('trace', 'The activation has not started, or its trace is no longer stored.'),
  cancelForbidden: () =>
    new AppError('FORBIDDEN', 'Only an admin or a requester can cancel this activation.', {
      hint: 'Use the key of an account that asked the agent.',
    }),
  alreadyEnded: (id: string) =>
    new AppError('TOO_LATE', 'This activation has already ended.', {
      hint: `See the result: GET /api/v1/activations/${id}`,
    }),
  agentUnreachable: (cause: unknown) =>
    new AppError('UNAVAILABLE', 'The agent is not reachable right now.', {
      hint: 'Try again in a few seconds.',
      cause,
    }),
}
