import { AppError, notFound } from '../../shared/errors'

/** Errors of activations, as users read them. */
export const activationRequestErrors = {
  notFound: () => notFound('run'),
  noTrace: () => notFound('trace', 'The run has not started, or its trace is no longer stored.'),
  cancelForbidden: () =>
    new AppError('FORBIDDEN', 'Only an admin or a requester can stop this run.', {
      hint: 'Ask a requester or an admin to stop the run.',
    }),
  alreadyEnded: () =>
    new AppError('TOO_LATE', 'This run has already ended.', {
      hint: 'Open the run to see its result.',
    }),
  agentUnreachable: (cause: unknown) =>
    new AppError('UNAVAILABLE', 'The agent cannot be reached.', {
      hint: 'Try again in a few seconds.',
      cause,
    }),
}
