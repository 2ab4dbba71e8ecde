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
  selectGuestsShare,
} from './guests-queries'
import type { BudgetChange } from './inputs'
import type { NewBudget } from './queries'

/**
 * Returns the statements that keep guests to a tenth of the hub's budget of the same period; run them in
 * the batch that writes the budget `id`, after the write. A higher limit of guests fails the batch; a
 * lower limit of the hub lowers that of guests.
 */
export const keepGuestsShare = (clock: Clock, by: AccountId, id: string) => ({
  lowering: recordLowering({ hubId: id, entryId: clock.newId(), by, now: clock.now() }),
  isLowered: lowerGuestsLimits(id, clock.now()),
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
  const share = await run(db, selectGuestsShare(wanted.period))
  throw budgetErrors.overGuestsShare(
    { limitMicrousd: null, limitTokens: null, ...share },
    wanted,
    cause,
  )
}

/** Warns that the budget of guests was lowered. */
export const warnOfLowering = (
  isLowered: boolean,
  { period }: Pick<GuestsShare, 'period'>,
): ErrorDetail[] =>
  isLowered
    ? [
        {
          path: 'body',
          message: `The ${periodLabels[period]} budget of guests was lowered to a tenth of the hub’s`,
        },
      ]
    : []

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
