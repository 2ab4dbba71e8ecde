import { run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { ErrorDetail } from '../../shared/errors'
import type { AccountId, Clock } from '../../shared/ids'
import { findFailedConstraint } from '../constraint-errors'
import { periodLabels } from './budget-labels'
import { budgetErrors } from './errors'
import {
  type GuestsShare,
  guardGuestsShare,
  guestsShareConstraint,
  lowerGuestsLimits,
  markLowered,
  recordLowering,
  selectGuestsShares,
  selectLowered,
} from './guests-queries'
import type { BudgetChange } from './inputs'
import type { NewBudget } from './queries'

/**
 * Returns the statements that keep guests to a tenth of each budget of the hub of the same or a longer
 * period; run them in the batch that writes the budget `id`, after the write. A higher limit of guests
 * fails the batch; a lower limit of the hub lowers those of guests.
 */
export const keepGuestsShare = (clock: Clock, by: AccountId, id: string) => ({
  lowering: recordLowering({
    hubId: id,
    entryIds: { day: clock.newId(), week: clock.newId(), month: clock.newId() },
    by,
    now: clock.now(),
  }),
  lowered: selectLowered(id),
  lower: lowerGuestsLimits(id, clock.now()),
  markLowered: markLowered(id),
  guestsGuard: guardGuestsShare(id),
})

/**
 * Throws VALIDATION with the highest amounts when `keepGuestsShare` failed the write of `wanted`;
 * else nothing.
 */
export async function throwExcessOfGuests(
  db: Db,
  wanted: GuestsShare,
  cause: unknown,
): Promise<void> {
  if (findFailedConstraint(cause) !== guestsShareConstraint) return
  const shares = await run(db, selectGuestsShares(wanted.period))
  throw budgetErrors.overGuestsShare(shares, wanted, cause)
}

/** Warns of each budget of guests that was lowered. */
export const warnOfLowering = (lowered: readonly Pick<GuestsShare, 'period'>[]): ErrorDetail[] =>
  lowered.map(({ period }) => ({
    path: 'body',
    message: `The ${periodLabels[period]} budget of guests was lowered to a tenth of the hub’s`,
  }))

type Limit = number | null | undefined
const pickLimit = (changed: Limit, stored: Limit) =>
  (changed === undefined ? stored : changed) ?? null

/** The limits of a budget after a change. */
export const toLimits = (
  budget: Pick<NewBudget, keyof GuestsShare>,
  change: BudgetChange = {},
): GuestsShare => ({
  period: budget.period,
  limitMicrousd: pickLimit(change.limit_microusd, budget.limitMicrousd),
  limitTokens: pickLimit(change.limit_tokens, budget.limitTokens),
})
