import type { FC } from 'hono/jsx'
import { nobody } from '../../hub/activations/filter'
import type { PageBudget } from '../../hub/budgets/page-queries'
import type { RequesterLine } from '../../hub/budgets/requester-queries'
import { type RequesterSpending, readTask } from '../../hub/budgets/requester-view'
import { formatIsoDay } from '../../hub/budgets/usage-view'
import { formatTask } from '../../hub/traces/run-labels'
import { formatBudgetMoney, formatCount, formatPeriod } from '../../shared/format'
import { runsPath } from '../../shared/paths'
import { AccountLink } from '../parts/account-link'
import { ShareBar } from '../parts/meter'
import { TableHead } from '../parts/table-head'
import { formatCostShare } from './spend-tables'

const DAY_MS = 86_400_000

type Amounts = Pick<PageBudget, 'spentMicrousd' | 'spentTokens'>

/** Lists what was spent on behalf of whom in the current window of the hub's main budget. */
export const RequesterSection: FC<{ spending: RequesterSpending; isAdmin: boolean }> = (props) => {
  const { spending, isAdmin } = props
  const { budget, lines, others } = spending
  if (budget.spentMicrousd + budget.spentTokens === 0) return null
  return (
    <section class="block" id="requesters">
      <h2>
        Spent by requester <span class="meta">{formatPeriod(budget.period)}</span>
      </h2>
      <p class="meta">
        {!isAdmin && 'Only admins see what is spent on behalf of others. '}
        Those who ask for a run together share its cost.
      </p>
      <table class="tbl fold up2">
        <TableHead
          columns={[
            'Requester',
            'Share',
            { right: 'Cost' },
            { right: 'Tokens' },
            { hidden: 'Runs' },
          ]}
        />
        <tbody>
          {lines.map((line) => (
            <Row amounts={line} budget={budget} name={<RequesterName line={line} />}>
              <RunsLink line={line} budget={budget} />
            </Row>
          ))}
          {others.spentMicrousd + others.spentTokens > 0 && (
            <Row amounts={others} budget={budget} name={<i>others</i>} />
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td />
            <AmountCells amounts={budget} budget={budget} />
            <td />
          </tr>
        </tfoot>
      </table>
    </section>
  )
}

const Row: FC<{ amounts: Amounts; budget: PageBudget; name: unknown; children?: unknown }> = (
  props,
) => {
  const { amounts, budget, name, children } = props
  const share = shareOf(amounts, budget)
  return (
    <tr>
      <th scope="row" class="nb">
        {name}
      </th>
      <td class="shares whole">
        <ShareBar share={share} />{' '}
        <span class="num">{share > 0 ? formatCostShare(share) : ''}</span>
      </td>
      <AmountCells amounts={amounts} budget={budget} />
      <td class="r">{children}</td>
    </tr>
  )
}

const AmountCells: FC<{ amounts: Amounts; budget: PageBudget }> = ({ amounts, budget }) => (
  <>
    <td class="r" data-l="Cost">
      {formatBudgetMoney(amounts.spentMicrousd, budget.limitMicrousd)}
    </td>
    <td class="r" data-l="Tokens">
      {formatCount(amounts.spentTokens)}
    </td>
  </>
)

/** The share of the money that is spent, or of the tokens when nothing has a price. */
const shareOf = (amounts: Amounts, whole: Amounts): number =>
  whole.spentMicrousd > 0
    ? amounts.spentMicrousd / whole.spentMicrousd
    : amounts.spentTokens / Math.max(1, whole.spentTokens)

const nameOf = (line: RequesterLine): string => {
  const task = readTask(line)
  return task === null ? (line.name ?? 'deleted account') : formatTask(task)
}

const RequesterName: FC<{ line: RequesterLine }> = ({ line }) =>
  line.name === null ? (
    <span>{nameOf(line)}</span>
  ) : (
    <AccountLink name={line.name} kind={line.kind ?? 'agent'} />
  )

/** Leads to the runs of the window, from the day on (UTC) on which it began. */
const RunsLink: FC<{ line: RequesterLine; budget: PageBudget }> = ({ line, budget }) => {
  const requester = line.isTask ? nobody : line.name
  if (requester === null) return null
  const since = formatIsoDay(Math.floor((budget.startsAt ?? 0) / DAY_MS))
  return (
    <a
      href={runsPath(new URLSearchParams({ requester, since }).toString())}
      aria-label={`Runs by ${nameOf(line)}`}
    >
      Runs
    </a>
  )
}
