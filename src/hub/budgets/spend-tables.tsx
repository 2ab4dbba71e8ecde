import type { FC } from 'hono/jsx'
import { formatCount, formatMoney, formatShare } from '../web/format'
import { Who } from '../web/who'
import { amountOf, nameSeries, type UsageChart } from './chart-data'
import { Swatch, slotOf } from './chart-paint'
import { sayBucket } from './chart-words'
import type { UsageSeries, UsageTotal, UseSums } from './usage-queries'
import type { UsageView } from './usage-view'

/** What was used without a price is never shown as free (B7). */
const sayCost = (microusd: number, sums: UseSums): string =>
  microusd === 0 && sums.unpricedTokens > 0 ? 'unpriced' : formatMoney(microusd, 'budget')

const sayShare = (share: number): string =>
  share < 0.01 ? 'under\u00a01\u00a0%' : formatShare(share)

interface Column {
  head: string
  cell(row: Omit<UsageSeries, 'id' | 'name' | 'kind'>): string
}

function listColumns(view: UsageView, total: UsageTotal): Column[] {
  const share = ({ costMicrousd }: UseSums) =>
    costMicrousd > 0 ? sayShare(costMicrousd / total.costMicrousd) : ''
  const lately: Column[] = [
    { head: 'Today', cell: (row) => sayCost(row.todayMicrousd, row) },
    { head: '7 days', cell: (row) => sayCost(row.weekMicrousd, row) },
  ]
  const all: Column[] = [
    {
      head: view.days === 365 ? '1 year' : `${view.days} days`,
      cell: (row) => sayCost(row.costMicrousd, row),
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
    ...(view.toDay > view.today ? lately.slice(0, view.days > 7 ? 2 : 1) : []),
    ...all,
    ...(total.unpricedTokens > 0 ? [unpriced] : []),
  ]
}

export interface SeriesTableProps {
  view: UsageView
  rows: UsageSeries[]
  total: UsageTotal
  chart: UsageChart
}

/** Each series with its sums, the greatest first, and all of them together. */
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
        <thead>
          <tr>
            <th scope="col">{view.by.replace(/^./, (letter) => letter.toUpperCase())}</th>
            {columns.map(({ head }) => (
              <th scope="col" class="r">
                {head}
              </th>
            ))}
          </tr>
        </thead>
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
            <th scope="row">Together</th>
            {cells(total)}
          </tr>
        </tfoot>
      </table>
    </section>
  )
}

/** With the colour that the chart gives it, and that of all others when it has none of its own. */
const SeriesName: FC<{ row: UsageSeries; by: string; chart: UsageChart }> = (props) => {
  const { row, by, chart } = props
  const { series } = chart
  const own = series.findIndex(({ id }) => id === row.id)
  const place = own >= 0 ? own : series.length - 1
  return (
    <>
      <Swatch slot={slotOf(place, series.length, series.at(-1)?.id === null)} />{' '}
      {row.kind && row.name ? <Who name={row.name} kind={row.kind} /> : nameSeries(row, by)}
    </>
  )
}

/** The numbers behind the bars, the newest first: a row a bar, a column a colour. */
export const BucketTable: FC<{ view: UsageView; chart: UsageChart }> = ({ view, chart }) => {
  const { unit, series } = chart
  const say = (sums: UseSums) => {
    if (sums.calls === 0) return ''
    return unit === 'usd' ? sayCost(sums.costMicrousd, sums) : formatCount(amountOf(sums, unit))
  }
  return (
    <section class="scroll" tabindex={0} aria-label={`The numbers of each ${view.each}`}>
      <table class="tbl fold">
        <thead>
          <tr>
            <th scope="col">
              {view.each === 'day' ? 'Day' : view.each === 'week' ? 'Week' : 'Month'}
            </th>
            {series.map(({ name }) => (
              <th scope="col" class="r">
                {name}
              </th>
            ))}
            <th scope="col" class="r">
              Together
            </th>
          </tr>
        </thead>
        <tbody>
          {chart.buckets
            .slice()
            .reverse()
            .map((bucket) => (
              <tr>
                <th scope="row">{sayBucket(bucket, view.each)}</th>
                {bucket.cells.map((cell, place) => (
                  <td class="r" data-l={series[place]?.name}>
                    {say(cell)}
                  </td>
                ))}
                <td class="r" data-l="Together">
                  <b>
                    {unit === 'usd'
                      ? formatMoney(
                          bucket.cells.reduce((sum, cell) => sum + amountOf(cell, unit), 0),
                          'budget',
                        )
                      : formatCount(
                          bucket.cells.reduce((sum, cell) => sum + amountOf(cell, unit), 0),
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
