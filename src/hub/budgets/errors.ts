import { AppError, type ErrorDetail } from '../../shared/errors'
import { formatCount, formatMoney } from '../../shared/format'
import { periodLabels } from './budget-labels'
import type { GuestsShare } from './guests-queries'

const limitsOfGuests = [
  {
    limit: 'limitMicrousd',
    path: 'body.limit_microusd',
    format: (most: number) => `${formatMoney(most, 'budget')} (${most} micro-dollars)`,
  },
  {
    limit: 'limitTokens',
    path: 'body.limit_tokens',
    format: (most: number) => `${formatCount(most)} tokens`,
  },
] as const

/** Names the highest amount of each limit that exceeds it: the least of `shares`. */
const listExcess = (shares: GuestsShare[], wanted: GuestsShare): ErrorDetail[] =>
  limitsOfGuests.flatMap(({ limit, path, format }) => {
    const [tightest] = shares
      .flatMap(({ period, [limit]: most }) => (most === null ? [] : [{ period, most }]))
      .toSorted((one, other) => one.most - other.most)
    const asked = wanted[limit]
    if (!tightest || (asked !== null && asked <= tightest.most)) return []
    const of = `a tenth of the hub’s ${periodLabels[tightest.period]} budget`
    return [{ path, message: `At most ${format(tightest.most)}, ${of}` }]
  })

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
  overGuestsShare: (shares: GuestsShare[], wanted: GuestsShare, cause: unknown) =>
    new AppError('VALIDATION', 'All guests together get at most a tenth of the hub’s budget.', {
      details: listExcess(shares, wanted),
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
