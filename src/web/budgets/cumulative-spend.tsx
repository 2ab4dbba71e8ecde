import type { FC } from 'hono/jsx'
import type { Forecast } from '../../hub/budgets/forecast'
import { warningThresholds } from '../../hub/budgets/levels'
import type { PageBudget } from '../../hub/budgets/page-queries'
import type { SeriesDay } from '../../hub/budgets/usage-queries'
import type { Unit, UsageView } from '../../hub/budgets/usage-view'
import { formatCount, formatMoney, formatPeriod } from '../../shared/format'
import { type Bar, Chart } from './chart'
import { type ChartSeries, composeCumulativeBuckets, toAmount } from './chart-data'
import { Legend } from './chart-legend'
import { formatTick } from './format-chart'

const DAY_MS = 86_400_000
const NBSP = '\u00a0'
/** The axis ends at this multiple of the usage, because a far limit would flatten the bars. */
const axisFactorMax = 2.2

export interface CumulativeSpendProps {
  view: UsageView
  budget: PageBudget
  forecast: Forecast
  series: ChartSeries[]
  days: SeriesDay[]
}

/** Whether the cumulative chart is shown: a current week or month with a limit and expected usage. */
export function hasCumulativeSpend({
  view,
  budget,
  forecast,
}: Omit<CumulativeSpendProps, 'series' | 'days'>): boolean {
  const hasLimit = budget.limitMicrousd !== null || budget.limitTokens !== null
  const expected =
    budget.limitMicrousd !== null ? forecast.expectedMicrousd : forecast.expectedTokens
  return (
    view.toDay > view.today &&
    budget.period !== 'day' &&
    budget.startsAt !== null &&
    hasLimit &&
    expected > 0
  )
}

/** Lists axis labels by day: today, and each week or every other day, except those that would touch today's. */
function listTickLabels(fromDay: number, today: number, count: number): (string | null)[] {
  const [step, distanceMin] = count > 10 ? [7, 6] : [2, 2]
  return Array.from({ length: count }, (_, index) => {
    const day = fromDay + index
    if (day === today) return 'today'
    const hasLabel = index % step === 0 && Math.abs(day - today) >= distanceMin
    return hasLabel ? formatTick(day, 'day') : null
  })
}

/** Shows the cumulative usage of the hub's budget in its current window, with its forecast. */
export const CumulativeSpend: FC<CumulativeSpendProps> = ({
  view,
  budget,
  forecast,
  series,
  days,
}) => {
  const unit: Unit = budget.limitMicrousd !== null ? 'usd' : 'tokens'
  const limit = (unit === 'usd' ? budget.limitMicrousd : budget.limitTokens) ?? 0
  const fromDay = Math.floor((budget.startsAt ?? 0) / DAY_MS)
  const barsMax = Math.ceil((budget.endsAt ?? 0) / DAY_MS) - fromDay
  const ticks = listTickLabels(fromDay, view.today, barsMax)
  const bars: Bar[] = composeCumulativeBuckets(view, series, days, fromDay).map(
    (bucket, index) => ({
      label: `until ${formatTick(bucket.fromDay, 'day')}`,
      tick: ticks[index] ?? null,
      values: bucket.cells.map((cell) => toAmount(cell, unit)),
    }),
  )
  const reached = bars.at(-1)?.values.reduce((sum, value) => sum + value, 0) ?? 0
  const expected = unit === 'usd' ? forecast.expectedMicrousd : forecast.expectedTokens
  const spent = unit === 'usd' ? budget.spentMicrousd : budget.spentTokens
  const isLimitShown = limit <= Math.max(expected, reached) * axisFactorMax
  return (
    <section class="block">
      <h2>
        Spent {formatPeriod(budget.period)} so far{' '}
        <span class="meta">{unit === 'usd' ? 'US dollars' : 'tokens'}, cumulative</span>
      </h2>
      <Chart
        label={formatChartLabel(budget, forecast, unit)}
        unit={unit}
        series={series.map(({ name }) => name)}
        hasOthers={series.at(-1)?.id === null}
        bars={[...bars, ...ticks.slice(bars.length).map(emptyBar)]}
        drawnBars={bars.length}
        highest={Math.min(expected, limit * axisFactorMax)}
        levels={isLimitShown ? listLevels(budget, limit, unit) : []}
        path={forecast.path.map((point) => ({
          x: point.at / DAY_MS - fromDay,
          value: (unit === 'usd' ? point.microusd : point.tokens) + reached - spent,
        }))}
      />
      <Legend series={series} by={view.by} hasForecast hasShares={isLimitShown} />
      {!isLimitShown && (
        <p class="meta">
          The limit of {formatAmount(limit, unit)} is above the range of this chart.
        </p>
      )}
    </section>
  )
}

const emptyBar = (tick: string | null): Bar => ({ label: '', tick, values: [] })

const formatAmount = (value: number, unit: Unit): string =>
  unit === 'usd' ? formatMoney(value, 'budget') : `${formatCount(value)}${NBSP}tokens`

function listLevels(budget: PageBudget, limit: number, unit: Unit) {
  return [
    ...warningThresholds.map((each) => ({
      at: limit * budget[`${each}Share`],
      kind: 'share' as const,
      label: null,
    })),
    { at: limit, kind: 'limit' as const, label: `hub limit ${formatAmount(limit, unit)}` },
  ]
}

function formatChartLabel(budget: PageBudget, forecast: Forecast, unit: Unit): string {
  const [spent, limit, expected] =
    unit === 'usd'
      ? [budget.spentMicrousd, budget.limitMicrousd, forecast.expectedMicrousd]
      : [budget.spentTokens, budget.limitTokens, forecast.expectedTokens]
  return `Spent ${formatPeriod(budget.period)} so far: ${formatAmount(spent, unit)} of ${formatAmount(limit ?? 0, unit)}; forecast ${formatAmount(expected, unit)} at the end of the period. The tables below have the same numbers.`
}
