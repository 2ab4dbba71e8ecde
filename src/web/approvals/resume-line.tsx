import type { FC } from 'hono/jsx'
import { isCostShown, type ResumePromise } from '../../hub/activations/resume-view'
import { formatPayers } from '../../hub/budgets/budget-labels'
import { formatMoney } from '../../shared/format'
import { connectPath } from '../../shared/paths'

/** Who acts on whose behalf when a call is approved, what the run can cost at most, and which budgets pay. */
export const ResumeLine: FC<{
  of: ResumePromise
  tool: string
  agentName: string
  viewerName: string | null
  canDecide: boolean
}> = ({ of, tool, agentName, viewerName, canDecide }) => {
  const names = of.requesters.map((name) => `@${name}`).join(', ')
  const account = of.findAccount(tool)
  return (
    <>
      <dt>Acts</dt>
      <dd>
        {agentName} for {names || 'the hub'}
        {account && `, as ${names} at ${account.service}`}
        {account && !account.isConnected && (
          <>
            {', where no account is connected. '}
            {viewerName !== null && of.requesters.includes(viewerName) && (
              <a class="ul" href={connectPath(account.service)}>
                Connect your account at {account.service}
              </a>
            )}
          </>
        )}
      </dd>
      <dt>Cost</dt>
      <dd>{isCostShown(of, canDecide) ? formatCost(of) : `Paid by ${formatPayers(of.paidBy)}.`}</dd>
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
