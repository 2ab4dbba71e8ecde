import { AppError, notFound } from '../../shared/errors'

/** Errors of votes, as users read them. */
export const voteErrors = {
  unknownTarget: (kind: 'post' | 'comment') => notFound(kind),
  ownContent: (kind: 'post' | 'comment') =>
    new AppError('VALIDATION', `You can't vote on your own ${kind}.`),
  invalidValue: () => new AppError('VALIDATION', 'The value of a vote must be 1, 0 or -1.'),
}
