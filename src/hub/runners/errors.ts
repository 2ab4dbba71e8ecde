import { runnerLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

/** Errors of runners and their keys, as users read them. */
export const runnerErrors = {
  noKey: () =>
    new AppError('UNAUTHORIZED', 'The runner key is not valid.', {
      hint: 'An admin makes one on the page /runners of the hub. Start the runner with it in ROOKERY_RUNNER_KEY.',
    }),
  keyNotFound: () => notFound('runner key', 'It may have been revoked already.'),
  runnerNotFound: () => notFound('runner', 'It may have been removed already.'),
  connected: () =>
    new AppError('CONFLICT', 'The runner is connected.', {
      hint: 'Stop its process, or revoke its key. A runner that is not connected can be removed.',
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `This hub has ${runnerLimits.keysMax} runner keys, the most it can have.`,
      {
        hint: 'Revoke a key that is no longer used. Several runners can use one key, under different names.',
        cause,
      },
    ),
}
