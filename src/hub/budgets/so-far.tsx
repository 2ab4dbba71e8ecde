import type { FC } from 'hono/jsx'
import { formatCount, formatMoney, sayPeriod } from '../web/format'
import { type Bar, Chart } from './chart'
import { amountOf, type ChartSeries, composeSoFar } from './chart-data'
import { Legend } from './chart-legend'
import { sayTick } from './chart-words'
import type { Forecast } from './forecast'
import type { PageBudget } from './page-queries'
import type { SeriesDay } from './usage-queries'
import type { Unit, UsageView } from './usage-view'

const DAY_MS = 86_400_000
const NBSP = '\u00a0'
/** A limit that is far away would press the bars flat: the drawing goes no further than this. */
const farMax = 2.2

export interface SoFarProps {
  view: UsageView
  budget: PageBudget
  seen: Forecast
  series: ChartSeries[]
  days: SeriesDay[]
}

/** The budget that a chart of the whole hub is about: the one with the longest window. */
export function findMainBudget(budgets: PageBudget[]): PageBudget | undefined {
  const lengths = { day: 1, week: 7, month: 31 }
  const rank = (budget: PageBudget) =>
    lengths[budget.period] +
    (budget.limitMicrousd === null && budget.limitTokens === null ? 0 : 100)
  return budgets.filter(({ scope }) => scope === 'hub').sort((a, b) => rank(b) - rank(a))[0]
}

/** Whether there is a line to draw: a week or a month, with a limit, in which something was used. */
export function isDrawn({ view, budget, seen }: Omit<SoFarProps, 'series' | 'days'>): boolean {
  const hasLimit = budget.limitMicrousd !== null || budget.limitTokens !== null
  const used = budget.limitMicrousd !== null ? seen.expectedMicrousd : seen.expectedTokens
  return (
    view.toDay > view.today &&
    budget.period !== 'day' &&
    budget.startsAt !== null &&
    hasLimit &&
    used > 0
  )
}

/** A mark each week, or every other day of a week, and today; none so near to it that they touch. */
function listMarks(fromDay: number, today: number, count: number): (string | null)[] {
  const [every, apart] = count > 10 ? [7, 6] : [2, 2]
  return Array.from({ length: count }, (_, index) => {
    const day = fromDay + index
    if (day === today) return 'today'
    const isMarked = index % every === 0 && Math.abs(day - today) >= apart
    return isMarked ? sayTick(day, 'day') : null
  })
}

/** What the hub's budget has paid for since its window began, and where that is heading. */
export const SoFar: FC<SoFarProps> = ({ view, budget, seen, series, days }) => {
  const unit: Unit = budget.limitMicrousd !== null ? 'usd' : 'tokens'
  const limit = (unit === 'usd' ? budget.limitMicrousd : budget.limitTokens) ?? 0
  const fromDay = Math.floor((budget.startsAt ?? 0) / DAY_MS)
  const barsMax = Math.ceil((budget.endsAt ?? 0) / DAY_MS) - fromDay
  const marks = listMarks(fromDay, view.today, barsMax)
  const bars: Bar[] = composeSoFar(view, series, days, fromDay).map((bucket, index) => ({
    label: `until ${sayTick(bucket.fromDay, 'day')}`,
    tick: marks[index] ?? null,
    values: bucket.cells.map((cell) => amountOf(cell, unit)),
  }))
  const reached = bars.at(-1)?.values.reduce((sum, value) => sum + value, 0) ?? 0
  const expected = unit === 'usd' ? seen.expectedMicrousd : seen.expectedTokens
  const spent = unit === 'usd' ? budget.spentMicrousd : budget.spentTokens
  const isNear = limit <= Math.max(expected, reached) * farMax
  return (
    <section class="block">
      <h2>
        Spent {sayPeriod(budget.period)} so far{' '}
        <span class="meta">{unit === 'usd' ? 'US dollars' : 'tokens'}, cumulative</span>
      </h2>
      <Chart
        label={describe(budget, seen, unit)}
        unit={unit}
        series={series.map(({ name }) => name)}
        hasOthers={series.at(-1)?.id === null}
        bars={[...bars, ...marks.slice(bars.length).map(emptyBar)]}
        drawnBars={bars.length}
        highest={Math.min(expected, limit * farMax)}
        levels={isNear ? listLevels(budget, limit, unit) : []}
        path={seen.path.map((point) => ({
          x: point.at / DAY_MS - fromDay,
          value: (unit === 'usd' ? point.microusd : point.tokens) + reached - spent,
        }))}
      />
      <Legend series={series} by={view.by} hasForecast hasShares={isNear} />
      {!isNear && (
        <p class="meta">The limit of {say(limit, unit)} is far above what is drawn here.</p>
      )}
    </section>
  )
}

const emptyBar = (tick: string | null): Bar => ({ label: '', tick, values: [] })

const say = (value: number, unit: Unit): string =>
  unit === 'usd' ? formatMoney(value, 'budget') : `${formatCount(value)}${NBSP}tokens`

function listLevels(budget: PageBudget, limit: number, unit: Unit) {
  return [
    { at: limit * budget.warningShare, kind: 'share' as const, label: null },
    { at: limit * budget.throttleShare, kind: 'share' as const, label: null },
    { at: limit, kind: 'limit' as const, label: `hub limit ${say(limit, unit)}` },
  ]
}

function describe(budget: PageBudget, seen: Forecast, unit: Unit): string {
  const [spent, limit, expected] =
    unit === 'usd'
      ? [budget.spentMicrousd, budget.limitMicrousd, seen.expectedMicrousd]
      : [budget.spentTokens, budget.limitTokens, seen.expectedTokens]
  return `Spent ${sayPeriod(budget.period)} so far: ${say(spent, unit)} of ${say(limit ?? 0, unit)}; at the run rate ${say(expected, unit)} at its end. The tables below have the same numbers.`
}
