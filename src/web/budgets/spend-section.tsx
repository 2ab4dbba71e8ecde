import type { FC } from 'hono/jsx'
import type { PageBudget } from '../../hub/budgets/page-queries'
import type { PastWindow, RequesterLine } from '../../hub/budgets/requester-queries'
import type { UsageSeries, UsageTotal, UsageTotals } from '../../hub/budgets/usage-queries'
import {
  formatIsoDay,
  formatUsageQuery,
  listBucketSizes,
  type RequesterSpending,
  readTask,
  type Unit,
  type UsageView,
  usageDimensions,
  usageSpans,
} from '../../hub/budgets/usage-view'
import { nobody } from '../../hub/runs/list-queries'
import { formatTask, isOfflineModel } from '../../hub/runs/run-labels'
import {
  formatBudgetMoney,
  formatCount,
  formatDay,
  formatMoney,
  formatPeriod,
  formatPlural,
  formatShare,
  toIso,
} from '../../shared/format'
import { runsPath } from '../../shared/paths'
import { AccountLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { ShareBar } from '../parts/meter'
import {
  type Bar,
  Chart,
  formatAmount,
  formatBucket,
  formatFullDay,
  formatSeriesName,
  formatTick,
  Legend,
  Swatch,
  toAmount,
  toColorSlot,
  type UsageChart,
} from './spend-chart'

/** What the tokens of a hub without a provider are. */
const offlineUsageNote = 'Tokens of the built-in offline model are free: nothing is bought.'

interface SpendProps {
  view: UsageView
  chart: UsageChart
  rows: UsageSeries[]
  total: UsageTotal | undefined
  /** All budgets; hub limits of the same period as a bar are drawn. */
  budgets: PageBudget[]
  /** No provider of models is set up. */
  isOffline: boolean
}

/** Shows usage over time as a chart with its options and numbers. */
export const SpendSection: FC<SpendProps> = (props) => {
  const { view, chart } = props
  return (
    <section class="block" id="spend">
      <h2>
        Spent by {view.each}{' '}
        <span class="meta">
          {formatFullDay(view.fromDay)} to {formatFullDay(view.toDay - 1)}, in UTC
        </span>
      </h2>
      <SpendControls view={view} unit={chart.unit} />
      <Spend {...props} />
    </section>
  )
}

const Spend: FC<SpendProps> = (props) => {
  const { view, chart, rows, total } = props
  if (!total || total.calls === 0) return <NoUsage view={view} />
  const isFree = total.costMicrousd === 0 && total.unpricedTokens === 0
  if (isFree && chart.unit === 'usd') return <NothingSpent total={total} />
  return (
    <>
      <SpendChart {...props} />
      <Legend series={chart.series} by={view.by} />
      <SeriesTable view={view} rows={rows} total={total} chart={chart} />
      <details class="up3">
        <summary class="meta">Numbers by {view.each}</summary>
        <BucketTable view={view} chart={chart} />
      </details>
      <UnpricedNote rows={rows} total={total} isOffline={props.isOffline} />
    </>
  )
}

/** Returns the indexes of bars with an axis label: every few bars, and the last. */
function listTickIndexes(count: number): Set<number> {
  const step = Math.max(1, Math.ceil(count / 4))
  const indexes = new Set<number>()
  for (let index = count - 1; index >= 0; index -= step) indexes.add(index)
  return indexes
}

const SpendChart: FC<SpendProps> = ({ view, chart, budgets }) => {
  const ticked = listTickIndexes(chart.buckets.length)
  const bars: Bar[] = chart.buckets.map((bucket, index) => ({
    label: formatBucket(bucket, view.each),
    tick: ticked.has(index) ? formatTick(bucket.fromDay, view.each) : null,
    values: bucket.cells.map((cell) => toAmount(cell, chart.unit)),
  }))
  const sum = bars.flatMap(({ values }) => values).reduce((total, value) => total + value, 0)
  return (
    <Chart
      label={`Spent by ${view.each} and ${view.by}, ${formatFullDay(view.fromDay)} to ${formatFullDay(view.toDay - 1)}: ${formatAmount(sum, chart.unit)}. The tables below have the same numbers.`}
      unit={chart.unit}
      series={chart.series.map(({ name }) => name)}
      hasOthers={chart.series.at(-1)?.id === null}
      bars={bars}
      levels={listLimits(view, chart, budgets)}
    />
  )
}

/** Lists the hub limits whose period equals a bar: daily limits on days, monthly limits on months. */
function listLimits(view: UsageView, { unit }: UsageChart, budgets: PageBudget[]) {
  return budgets
    .filter(({ scope, period }) => scope === 'hub' && period === view.each)
    .map((budget) => (unit === 'usd' ? budget.limitMicrousd : budget.limitTokens))
    .filter((limit) => limit !== null)
    .map((at) => ({
      at,
      kind: 'limit' as const,
      label: `hub limit ${formatAmount(at, unit)} a ${view.each}`,
    }))
}

const UnpricedNote: FC<{ rows: UsageSeries[]; total: UsageTotal; isOffline: boolean }> = (
  props,
) => {
  const { rows, total, isOffline } = props
  const isShown = isOffline || rows.some(({ id }) => isOfflineModel(id) || id === 'offline')
  return (
    <p class="meta">
      Days, weeks and months are counted in UTC.
      {isShown && ` ${offlineUsageNote}`}
      {total.unpricedTokens > 0 &&
        ` ${formatCount(total.unpricedTokens)} tokens of ${formatPlural(total.unpricedCalls, 'call', 'calls')} have no price. They are counted in tokens only and are not free.`}
    </p>
  )
}

const NoUsage: FC<{ view: UsageView }> = ({ view }) => (
  <div class="empty">
    <p>
      <strong>No usage {view.toDay > view.today ? 'yet' : 'in this period'}.</strong>
      Mention an agent in a post to see its usage and cost here.
    </p>
  </div>
)

/** In place of a chart of zeros, or of tokens that nobody bought. */
const NothingSpent: FC<{ total: UsageTotal }> = ({ total }) => (
  <div class="empty">
    <p>
      <strong>Nothing was spent.</strong>
      {formatPlural(total.calls, 'model call was', 'model calls were')} free. {offlineUsageNote}
    </p>
  </div>
)

const spanLabels = { 7: '7 days', 30: '30 days', 90: '90 days', 365: '1 year' } as const

interface Choice {
  text: string
  isCurrent: boolean
  query: string
}

/** A row of links of which the current one is marked. */
const Choices: FC<{ label: string; choices: Choice[] }> = ({ label, choices }) => (
  <p class="pick">
    <span class="meta">{label}</span>
    {choices.map(({ text, isCurrent, query }) => (
      <a href={`/budgets${query}#spend`} aria-current={isCurrent ? 'true' : undefined}>
        {text}
      </a>
    ))}
  </p>
)

/** Options of the usage view, as links, so that each view can be bookmarked and shared. */
const SpendControls: FC<{ view: UsageView; unit: Unit }> = ({ view, unit }) => {
  const link = (change: Parameters<typeof formatUsageQuery>[1]) => formatUsageQuery(view, change)
  const keep = (days: UsageView['days']) =>
    listBucketSizes(days).includes(view.each) ? view.each : listBucketSizes(days)[0]
  const isPast = view.toDay <= view.today
  return (
    <nav class="picks" aria-label="Chart options">
      <Choices
        label="Group by"
        choices={usageDimensions.map((by) => ({
          text: by,
          isCurrent: by === view.by,
          query: link({ by }),
        }))}
      />
      <Choices
        label="Last"
        choices={usageSpans.map((days) => ({
          text: spanLabels[days],
          isCurrent: days === view.days,
          query: link({ days, each: keep(days) ?? 'day' }),
        }))}
      />
      <Choices
        label="Per"
        choices={listBucketSizes(view.days).map((each) => ({
          text: each,
          isCurrent: each === view.each,
          query: link({ each }),
        }))}
      />
      <Choices
        label="Unit"
        choices={(['usd', 'tokens'] as const).map((each) => ({
          text: each === 'usd' ? 'dollars' : 'tokens',
          isCurrent: each === unit,
          query: link({ unit: each }),
        }))}
      />
      <p class="pick">
        <a href={`/budgets${link({ toDay: view.fromDay })}#spend`} rel="prev">
          Earlier
        </a>
        {isPast && (
          <a
            href={`/budgets${link({ toDay: Math.min(view.today + 1, view.toDay + view.days) })}#spend`}
            rel="next"
          >
            Later
          </a>
        )}
      </p>
    </nav>
  )
}

/** Formats cost; usage without a price is `unpriced`, never free. */
const formatCost = (microusd: number, sums: UsageTotals): string =>
  microusd === 0 && sums.unpricedTokens > 0 ? 'unpriced' : formatMoney(microusd, 'budget')

/** Formats a share; one that is not nothing is never 0 %. */
const formatCostShare = (share: number): string =>
  share < 0.01 ? 'under\u00a01\u00a0%' : formatShare(share)

interface Column {
  head: string
  cell(row: Omit<UsageSeries, 'id' | 'name' | 'kind'>): string
}

function listColumns(view: UsageView, total: UsageTotal): Column[] {
  const share = ({ costMicrousd }: UsageTotals) =>
    costMicrousd > 0 ? formatCostShare(costMicrousd / total.costMicrousd) : ''
  const recent: Column[] = [
    { head: 'Today', cell: (row) => formatCost(row.todayMicrousd, row) },
    { head: '7 days', cell: (row) => formatCost(row.weekMicrousd, row) },
  ]
  const columns: Column[] = [
    {
      head: view.days === 365 ? '1 year' : `${view.days} days`,
      cell: (row) => formatCost(row.costMicrousd, row),
    },
    { head: 'Share', cell: share },
    { head: 'Calls', cell: (row) => formatCount(row.calls) },
    { head: 'Tokens', cell: (row) => formatCount(row.inputTokens + row.outputTokens) },
  ]
  const unpriced: Column = {
    head: 'Unpriced',
    cell: (row) => (row.unpricedTokens > 0 ? formatCount(row.unpricedTokens) : ''),
  }
  return [
    ...(view.toDay > view.today ? recent.slice(0, view.days > 7 ? 2 : 1) : []),
    ...columns,
    ...(total.unpricedTokens > 0 ? [unpriced] : []),
  ]
}

interface SeriesTableProps {
  view: UsageView
  rows: UsageSeries[]
  total: UsageTotal
  chart: UsageChart
}

/** Lists each series with its sums, greatest first, and the total. */
const SeriesTable: FC<SeriesTableProps> = ({ view, rows, total, chart }) => {
  const columns = listColumns(view, total)
  const cells = (row: UsageTotal) =>
    columns.map(({ head, cell }) => (
      <td class="r" data-l={head}>
        {cell(row)}
      </td>
    ))
  return (
    <section class="scroll up3" tabindex={0} aria-label={`Each ${view.by}`}>
      <table class="tbl fold">
        <TableHead
          columns={[
            view.by.replace(/^./, (letter) => letter.toUpperCase()),
            ...columns.map(({ head }) => ({ right: head })),
          ]}
        />
        <tbody>
          {rows.map((row) => (
            <tr>
              <th scope="row" class="nb">
                <SeriesName row={row} by={view.by} chart={chart} />
              </th>
              {cells(row)}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            {cells(total)}
          </tr>
        </tfoot>
      </table>
    </section>
  )
}

/** Shows a series with its colour in the chart, or the colour of all others. */
const SeriesName: FC<{ row: UsageSeries; by: string; chart: UsageChart }> = (props) => {
  const { row, by, chart } = props
  const { series } = chart
  const ownIndex = series.findIndex(({ id }) => id === row.id)
  const index = ownIndex >= 0 ? ownIndex : series.length - 1
  return (
    <>
      <Swatch slot={toColorSlot(index, series.length, series.at(-1)?.id === null)} />{' '}
      {row.kind && row.name ? (
        <AccountLink name={row.name} kind={row.kind} />
      ) : (
        formatSeriesName(row, by)
      )}
    </>
  )
}

/** Lists the numbers of the chart, newest first: a row per bar, a column per series. */
const BucketTable: FC<{ view: UsageView; chart: UsageChart }> = ({ view, chart }) => {
  const { unit, series } = chart
  const formatCell = (sums: UsageTotals) => {
    if (sums.calls === 0) return ''
    return unit === 'usd' ? formatCost(sums.costMicrousd, sums) : formatCount(toAmount(sums, unit))
  }
  return (
    <section class="scroll" tabindex={0} aria-label={`Numbers by ${view.each}`}>
      <table class="tbl fold">
        <TableHead
          columns={[
            view.each === 'day' ? 'Day' : view.each === 'week' ? 'Week' : 'Month',
            ...series.map(({ name }) => ({ right: name })),
            { right: 'Total' },
          ]}
        />
        <tbody>
          {chart.buckets
            .slice()
            .reverse()
            .map((bucket) => (
              <tr>
                <th scope="row">{formatBucket(bucket, view.each)}</th>
                {bucket.cells.map((cell, index) => (
                  <td class="r" data-l={series[index]?.name}>
                    {formatCell(cell)}
                  </td>
                ))}
                <td class="r" data-l="Total">
                  <b>
                    {unit === 'usd'
                      ? formatMoney(
                          bucket.cells.reduce((sum, cell) => sum + toAmount(cell, unit), 0),
                          'budget',
                        )
                      : formatCount(
                          bucket.cells.reduce((sum, cell) => sum + toAmount(cell, unit), 0),
                        )}
                  </b>
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  )
}

const DAY_MS = 86_400_000

type Amounts = Pick<PageBudget, 'spentMicrousd' | 'spentTokens'>

/** Lists what was spent on behalf of whom in a window of the hub's main budget, with links to those that have ended. */
export const RequesterSection: FC<{
  spending: RequesterSpending
  ended: readonly PastWindow[]
  isAdmin: boolean
  isOffline: boolean
}> = (props) => {
  const { spending, isAdmin, isOffline } = props
  const { budget, lines, others } = spending
  if (budget.spentMicrousd + budget.spentTokens === 0 && props.ended.length === 0) return null
  const isPast = props.ended.some(({ startsAt }) => startsAt === budget.startsAt)
  // of the tokens when nothing has a price, and none of what is free
  const shareOf = (amounts: Amounts): number =>
    budget.spentMicrousd > 0
      ? amounts.spentMicrousd / budget.spentMicrousd
      : isOffline
        ? 0
        : amounts.spentTokens / Math.max(1, budget.spentTokens)
  return (
    <section class="block" id="requesters">
      <h2>
        Spent by requester{' '}
        <span class="meta">{isPast ? formatWindow(budget) : formatPeriod(budget.period)}</span>
      </h2>
      {props.ended.length > 0 && (
        <nav class="tabs" aria-label="Windows">
          <a href="/budgets#requesters" aria-current={isPast ? undefined : 'page'}>
            {formatPeriod(budget.period)}
          </a>
          {props.ended.map((each) => (
            <a
              href={`/budgets?requesters_of=${toIso(each.startsAt)}#requesters`}
              aria-current={each.startsAt === budget.startsAt ? 'page' : undefined}
            >
              {formatWindow(each)}
            </a>
          ))}
        </nav>
      )}
      <p class="meta">
        {!isAdmin && 'Only admins see what is spent on behalf of others. '}
        Those who ask for a run together share its cost.
        {isOffline && ` ${offlineUsageNote}`}
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
            <Row
              amounts={line}
              budget={budget}
              share={shareOf(line)}
              name={<RequesterName line={line} />}
            >
              <RunsLink line={line} budget={budget} />
            </Row>
          ))}
          {others.spentMicrousd + others.spentTokens > 0 && (
            <Row amounts={others} budget={budget} share={shareOf(others)} name={<i>others</i>} />
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

/** Formats the days of a window, as `1 Oct 2026 to 31 Oct 2026`. */
function formatWindow({ startsAt, endsAt }: { startsAt: number | null; endsAt: number | null }) {
  const [from, to] = [formatDay(startsAt ?? 0), formatDay((endsAt ?? 1) - 1)]
  return from === to ? from : `${from} to ${to}`
}

interface RowProps {
  amounts: Amounts
  budget: PageBudget
  /** Of what all requesters spent. */
  share: number
  name: unknown
  children?: unknown
}

const Row: FC<RowProps> = ({ amounts, budget, share, name, children }) => (
  <tr>
    <th scope="row" class="nb">
      {name}
    </th>
    <td class="shares whole">
      {share > 0 && (
        <>
          <ShareBar share={share} /> <span class="num">{formatCostShare(share)}</span>
        </>
      )}
    </td>
    <AmountCells amounts={amounts} budget={budget} />
    <td class="r">{children}</td>
  </tr>
)

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
