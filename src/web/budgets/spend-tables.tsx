import type { FC } from 'hono/jsx'
import type { UsageSeries, UsageTotal, UsageTotals } from '../../hub/budgets/usage-queries'
import type { UsageView } from '../../hub/budgets/usage-view'
import { formatCount, formatMoney, formatShare } from '../../shared/format'
import { AccountLink } from '../parts/account-link'
import { TableHead } from '../parts/table-head'
import { Swatch, toColorSlot } from './chart-colors'
import { formatSeriesName, toAmount, type UsageChart } from './chart-data'
import { formatBucket } from './format-chart'

/** Formats cost; usage without a price is `unpriced`, never free. */
const formatCost = (microusd: number, sums: UsageTotals): string =>
  microusd === 0 && sums.unpricedTokens > 0 ? 'unpriced' : formatMoney(microusd, 'budget')

/** Formats a share; one that is not nothing is never 0 %. */
export const formatCostShare = (share: number): string =>
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

export interface SeriesTableProps {
  view: UsageView
  rows: UsageSeries[]
  total: UsageTotal
  chart: UsageChart
}

/** Lists each series with its sums, greatest first, and the total. */
export const SeriesTable: FC<SeriesTableProps> = ({ view, rows, total, chart }) => {
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
export const BucketTable: FC<{ view: UsageView; chart: UsageChart }> = ({ view, chart }) => {
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
