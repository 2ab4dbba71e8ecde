import { AppError } from '../../shared/errors'

/** Errors of test calls, as admins read them. */
export const trialErrors = {
  noBudget: () =>
    new AppError('CONFLICT', 'The budget leaves too little for a test call.', {
      hint: 'Raise the budget at /budgets, or wait until it resets.',
    }),
  paused: () =>
    new AppError('CONFLICT', 'All agents are paused, so no model is called.', {
      hint: 'Resume them at /scheduler.',
    }),
  running: () =>
    new AppError('CONFLICT', 'Another test of yours is running.', { hint: 'Try again shortly.' }),
}
