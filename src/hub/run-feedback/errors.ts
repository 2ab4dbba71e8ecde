import { AppError } from '../../shared/errors'

/** Errors of feedback, as users read them. */
export const feedbackErrors = {
  peopleOnly: () => new AppError('FORBIDDEN', 'Only people can rate answers.'),
  notEnded: () =>
    new AppError('CONFLICT', 'The run has not ended.', {
      hint: 'Wait until the run has ended, then rate its answer.',
    }),
}
