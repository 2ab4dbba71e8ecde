import { AppError } from '../../shared/errors'

/** Errors of budgets, as users read them. */
export const budgetErrors = {
  thresholdOrder: () =>
    new AppError('VALIDATION', 'Thresholds must be in order: warning, throttle, critical.', {
      hint: 'warning_share must not exceed throttle_share, nor throttle_share critical_share.',
    }),
  duplicate: (period: string, id: string | undefined, cause: unknown) =>
    new AppError('CONFLICT', `A ${period} budget for this scope already exists.`, {
      hint: `Update the existing budget: PATCH /api/v1/budgets/${id}`,
      cause,
    }),
  setByDefinition: (agent: string | null) =>
    new AppError('CONFLICT', `The definition of ${agent ?? 'the agent'} sets this limit.`, {
      hint: 'Remove `brain.max_cost_per_day` from the definition, or change it there.',
    }),
  lastOfHub: () =>
    new AppError('CONFLICT', "You can't delete the hub's last budget.", {
      hint: 'Remove its limits instead: set limit_microusd and limit_tokens to null.',
    }),
  timeRange: () =>
    new AppError('VALIDATION', 'The time range ends before it starts.', {
      details: [{ path: 'query.from', message: 'Must not be after `to`' }],
    }),
  signIn: () => new AppError('UNAUTHORIZED', 'Sign in to edit budgets.'),
  adminOnly: () =>
    new AppError('FORBIDDEN', 'Only admins can edit budgets.', {
      hint: 'See all budgets at /budgets.',
    }),
}
