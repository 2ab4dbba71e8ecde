import { AppError, notFound } from '../../shared/errors'

const hint = 'Reload the list of approvals.'

const conflict = (message: string): AppError => new AppError('CONFLICT', message, { hint })

/** Errors of approvals, as users read them. */
export const approvalErrors = {
  notFound: () => notFound('approval'),
  signInRequired: () => new AppError('UNAUTHORIZED', 'Sign in to see approvals.'),
  invalidDecision: () =>
    new AppError('VALIDATION', 'The decision is missing or unknown.', {
      hint: 'Choose Approve once, Approve this tool for the run, or Deny.',
    }),
  onceOnly: () =>
    conflict(
      'An external call can be approved only once, because its caller repeats exactly this call.',
    ),
  expired: () => conflict('This approval has expired.'),
  cancelled: () => conflict('This approval is no longer needed, because the run was cancelled.'),
  alreadyApproved: (by: string | null) =>
    conflict(`This call was already approved by ${by ?? 'another admin'}.`),
  alreadyDenied: (by: string | null) =>
    conflict(`This call was already denied by ${by ?? 'another admin'}.`),
}
