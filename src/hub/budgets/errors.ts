import { AppError, type ErrorDetail } from '../../shared/errors'
import { formatCount, formatMoney } from '../../shared/format'
import { periodLabels } from './budget-labels'
import type { GuestsShare } from './guests-queries'

/** Names the highest amount of each limit that exceeds it. */
function listExcess(
  share: Omit<GuestsShare, 'period'>,
  { period, limitMicrousd, limitTokens }: GuestsShare,
): ErrorDetail[] {
  const of = `a tenth of the hub’s ${periodLabels[period]} budget`
  const isOver = (limit: number | null, most: number) => limit === null || limit > most
  const details: ErrorDetail[] = []
  if (share.limitMicrousd !== null && isOver(limitMicrousd, share.limitMicrousd)) {
    const dollars = formatMoney(share.limitMicrousd, 'budget')
    const message = `At most ${dollars} (${share.limitMicrousd} micro-dollars), ${of}`
    details.push({ path: 'body.limit_microusd', message })
  }
  if (share.limitTokens !== null && isOver(limitTokens, share.limitTokens)) {
    const message = `At most ${formatCount(share.limitTokens)} tokens, ${of}`
    details.push({ path: 'body.limit_tokens', message })
  }
  return details
}

/** Errors of budgets, as users read them. */
export const budgetErrors = {
  thresholdOrder: () =>
    new AppError('VALIDATION', 'Thresholds must be in order: warning, throttle, critical.', {
      hint: 'warning_share must not exceed throttle_share, nor throttle_share critical_share.',
    }),
  duplicate: (period: string, id: string | undefined, cause: unknown) =>
    new AppError('CONFLICT', `A ${period} budget for this scope already exists.`, {
      hint: `Edit that budget${id === undefined ? '' : ` (${id})`}, or choose another period.`,
      cause,
    }),
  setByDefinition: (agent: string | null) =>
    new AppError('CONFLICT', `The definition of ${agent ?? 'the agent'} sets this limit.`, {
      hint: 'Remove `brain.max_cost_per_day` from the definition, or change it there.',
    }),
  lastOfHub: () =>
    new AppError('CONFLICT', "You can't delete the hub's last budget.", {
      hint: 'Remove the limits of this budget instead.',
    }),
  overGuestsShare: (share: Omit<GuestsShare, 'period'>, wanted: GuestsShare, cause: unknown) =>
    new AppError('VALIDATION', 'All guests together get at most a tenth of the hub’s budget.', {
      details: listExcess(share, wanted),
      hint: 'Lower this limit, or raise the hub’s limit first.',
      cause,
    }),
  guestsOfHub: () =>
    new AppError('CONFLICT', "You can't delete the budget of guests.", {
      hint: 'Guests get at most a tenth of the hub’s budget. Set the limit to 0 to refuse guests.',
    }),
  timeRange: () =>
    new AppError('VALIDATION', 'The time range ends before it starts.', {
      details: [{ path: 'query.from', message: 'Must not be after `to`' }],
    }),
  signIn: () => new AppError('UNAUTHORIZED', 'Sign in to edit budgets.'),
  adminOnly: () =>
    new AppError('FORBIDDEN', 'Only admins can edit budgets.', {
      hint: 'Ask an admin of this hub.',
    }),
}
