import type { FC } from 'hono/jsx'
import type { PayingBudget } from '../../hub/activations/admission-queries'
import type { ResumeCost } from '../../hub/activations/resume-queries'
import { formatPayers } from '../../hub/budgets/budget-labels'
import { formatMoney } from '../../shared/format'

/** What resuming a run would cost, with the budgets that pay. */
export interface ResumePromise extends ResumeCost {
  paidBy: Pick<PayingBudget, 'scope' | 'name'>[]
}

/** Joins what was read about the runs that wait, by the id of the run. */
export const toResumePromises = (read: {
  costs: ResumeCost[]
  payers: PayingBudget[]
}): ReadonlyMap<string, ResumePromise> =>
  new Map(
    read.costs.map((cost) => [
      cost.activationId,
      {
        ...cost,
        paidBy: read.payers.filter(({ activationId }) => activationId === cost.activationId),
      },
    ]),
  )

/** Who acts on whose behalf when a call is approved, what the run can cost at most, and which budgets pay. */
export const ResumeLine: FC<{ of: ResumePromise; agentName: string; canDecide: boolean }> = (
  props,
) => {
  const { of, agentName, canDecide } = props
  const names = of.requesters.map((name) => `@${name}`).join(', ')
  const isShown = canDecide || of.requesters.length === 1
  return (
    <>
      <dt>Acts</dt>
      <dd>
        {agentName} for {names || 'the hub'}
      </dd>
      <dt>Cost</dt>
      <dd>{isShown ? formatCost(of) : `Paid by ${formatPayers(of.paidBy)}.`}</dd>
    </>
  )
}

function formatCost({
  isExhausted,
  reservedMicrousd,
  freeMicrousd,
  paidBy,
}: ResumePromise): string {
  const payers = formatPayers(paidBy)
  if (isExhausted) return `A budget is used up, so no model is called (${payers}).`
  if (freeMicrousd <= 0) return `No money is left until other runs end (${payers}).`
  const first =
    reservedMicrousd > 0 ? `at most ${formatMoney(reservedMicrousd, 'thread')}` : 'nothing'
  return `The next model call costs ${first}, the rest of the run at most ${formatMoney(freeMicrousd, 'thread')}: what its budgets leave (${payers}).`
}
