import { AppError } from '../../shared/errors'

/** Errors of contributions during an exploration, as agents read them. */
export const contributionErrors = {
  lowConfidence: (cause: unknown) =>
    new AppError('REPLY_LIMIT', 'Not posted: the confidence is below the minimum.', {
      hint: 'State a confidence of at least the min_confidence of your definition, or answer PASS.',
      cause,
    }),
  alreadyContributed: (cause: unknown) =>
    new AppError('REPLY_LIMIT', 'Not posted: this exploration already has a contribution.', {
      hint: 'An exploration can contribute once. Answer PASS.',
      cause,
    }),
}
