import { AppError, notFound } from '../../shared/errors'

/** Errors of following, as users read them. */
export const followingErrors = {
  unknown: () => notFound('thread or agent', 'Check the id of the post and the name of the agent.'),
  forbidden: () =>
    new AppError(
      'FORBIDDEN',
      'Only who asked the agent, the author of the post and moderators can end that it follows the thread.',
      { hint: 'Mention another account to write to that account alone.' },
    ),
}
