import type { FC, PropsWithChildren } from 'hono/jsx'
import type { Forecast } from '../../hub/budgets/forecast'
import type { PageBudget } from '../../hub/budgets/page-queries'
import type { SeriesDay, UsageSeries, UsageTotals } from '../../hub/budgets/usage-queries'
import {
  type Bucket,
  endOfBucket,
  listBuckets,
  startOfBucket,
  type Unit,
  type UsageDimension,
  type UsageView,
} from '../../hub/budgets/usage-view'
import { warningThresholds } from '../../hub/rules/budget-levels'
import { privateCommunityLabel } from '../../hub/rules/places'
import { shortenText } from '../../shared/cut-text'
import { formatCount, formatMoney, formatPeriod } from '../../shared/format'
import { keep } from '../../shared/keep'

/** A bar of a chart with the value of each series, in the order of the series. */
export interface Bar {
  label: string
  /** Axis label; null for none. */
  tick: string | null
  values: number[]
}

interface ChartProps {
  label: string
  unit: Unit
  /** Names of the series. */
  series: string[]
  /** Whether the last series is the sum of all small ones. */
  hasOthers: boolean
  bars: Bar[]
  /** Number of bars drawn; the rest are in the future and stay empty. */
  drawnBars?: number
  /** A further value that the axis must include. */
  highest?: number
  /** Horizontal lines: a limit, or a share of it. */
  levels?: { at: number; kind: 'limit' | 'share'; label: string | null }[]
  /** Points of a dashed line: position on the time axis in bars, and value. */
  path?: { x: number; value: number }[]
}

/** Returns the position of an axis label: centred below its bar, but inside the chart at both ends. */
const toTickPosition = (middle: number) => {
  if (middle > 0.95) return { x: '100%', 'text-anchor': 'end' } as const
  return middle < 0.05
    ? ({ x: '0', 'text-anchor': 'start' } as const)
    : ({ x: percent(middle), 'text-anchor': 'middle' } as const)
}

const percent = (share: number): string => `${(share * 100).toFixed(2)}%`
/** Share of its slot's width that a bar fills. */
const barShare = 0.76

/**
 * Draws a stacked bar chart over time. Positions are percentages of an unscaled SVG, so that patterns
 * and text keep their shape at every width. A bar shows its values on hover and on focus.
 */
export const Chart: FC<ChartProps> = (props) => {
  const { label, unit, bars, levels = [], path = [], drawnBars = bars.length } = props
  const barsMax = bars.length
  const totals = bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0))
  const highest = Math.max(...totals, ...levels.map(({ at }) => at), props.highest ?? 0)
  const ticks = listTicks(highest)
  const top = ticks.at(-1) ?? 1
  const y = (value: number) => percent(1 - value / top)
  return (
    <figure class="chart">
      <svg class="ax" aria-hidden="true">
        {ticks.map((tick) => (
          <text x="100%" y={y(tick)} dy="4" text-anchor="end">
            {formatAxisValue(tick, ticks[1] ?? 1, unit)}
          </text>
        ))}
      </svg>
      {/* biome-ignore lint/a11y/useSemanticElements: an SVG has no fieldset */}
      <svg class="plot" role="group" aria-label={label}>
        {ticks.map((tick) => (
          <line class="grid" x1="0" x2="100%" y1={y(tick)} y2={y(tick)} />
        ))}
        <Stacks {...props} top={top} barsMax={barsMax} />
        {levels.map(({ at, kind, label: text }) => (
          <>
            <line class={kind} x1="0" x2="100%" y1={y(at)} y2={y(at)} />
            {text && (
              <text class={`say-${kind}`} x="0" y={y(at)} dy="-5">
                {text}
              </text>
            )}
          </>
        ))}
        <Path path={path} top={top} barsMax={barsMax} />
        {bars.slice(0, drawnBars).map((bar, index) => (
          <BarFocus
            {...props}
            bar={bar}
            index={index}
            barsMax={barsMax}
            total={totals[index] ?? 0}
          />
        ))}
      </svg>
      <svg class="ax x" aria-hidden="true">
        {bars.map(
          ({ tick }, index) =>
            tick && (
              <text {...toTickPosition((index + 0.5) / barsMax)} y="13">
                {tick}
              </text>
            ),
        )}
      </svg>
    </figure>
  )
}

const Stacks: FC<ChartProps & { top: number; barsMax: number }> = (props) => {
  const { bars, series, hasOthers, top, barsMax } = props
  return (
    <g>
      {bars.map(({ values }, index) => {
        let below = 0
        return values.map((value, seriesIndex) => {
          if (value <= 0) return null
          below += value
          return (
            <rect
              {...toFillProps(toColorSlot(seriesIndex, series.length, hasOthers))}
              x={percent((index + (1 - barShare) / 2) / barsMax)}
              width={percent(barShare / barsMax)}
              y={percent(1 - below / top)}
              height={percent(value / top)}
            />
          )
        })
      })}
    </g>
  )
}

/** Draws the dashed line, clipped at the top of the chart. */
const Path: FC<{ path: { x: number; value: number }[]; top: number; barsMax: number }> = (
  props,
) => (
  <g>
    {props.path.slice(1).map((to, index) => {
      const from = props.path[index] ?? to
      if (from.value > props.top) return null
      const share = to.value > props.top ? (props.top - from.value) / (to.value - from.value) : 1
      return (
        <line
          class="dash"
          x1={percent(from.x / props.barsMax)}
          x2={percent((from.x + (to.x - from.x) * share) / props.barsMax)}
          y1={percent(1 - from.value / props.top)}
          y2={percent(1 - Math.min(to.value, props.top) / props.top)}
        />
      )
    })}
  </g>
)

/** Shows the tooltip of a bar on hover or focus, over the full height of the chart. */
const BarFocus: FC<
  PropsWithChildren<ChartProps & { bar: Bar; index: number; barsMax: number; total: number }>
> = ({ bar, index, barsMax, series, hasOthers, unit, total }) => {
  const lines: TooltipLine[] = bar.values
    .map((value, seriesIndex) => ({
      name: series[seriesIndex] ?? '',
      value,
      slot: toColorSlot(seriesIndex, series.length, hasOthers),
    }))
    .filter(({ value }) => value > 0)
    .reverse()
    .map(({ value, ...line }) => ({ ...line, text: formatAmount(value, unit) }))
  const label = [
    `${bar.label}: ${formatAmount(total, unit)}`,
    ...lines.map(({ name, text }) => `${name} ${text}`),
  ]
  return (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: focus shows values and does nothing
    <g class="spot" tabindex={0} role="img" aria-label={label.join('. ')}>
      <rect class="hit" x={percent(index / barsMax)} width={percent(1 / barsMax)} height="100%" />
      <ChartTooltip
        at={(index + 0.5) / barsMax}
        heading={bar.label}
        total={formatAmount(total, unit)}
        lines={lines}
      />
    </g>
  )
}

const DAY_MS = 86_400_000
const NBSP = '\u00a0'
/** The axis ends at this multiple of the usage, because a far limit would flatten the bars. */
const axisFactorMax = 2.2

interface CumulativeSpendProps {
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

export const formatAmount = (value: number, unit: Unit): string =>
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

interface LegendProps {
  series: ChartSeries[]
  by: UsageDimension
  hasForecast?: boolean
  hasShares?: boolean
}

/** Lists the colour and pattern of each series, in stacking order from below. */
export const Legend: FC<LegendProps> = ({ series, by, hasForecast, hasShares }) => (
  <ul class="keys legend" aria-label={`Colours by ${by}`}>
    {series.map(({ id, name }, index) => (
      <li>
        <Swatch slot={toColorSlot(index, series.length, series.at(-1)?.id === null)} />
        {id === null ? <i>{name}</i> : name}
      </li>
    ))}
    {hasForecast && (
      <li>
        <Stroke kind="dash" /> forecast at the run rate
      </li>
    )}
    {hasShares && (
      <li>
        <Stroke kind="share" /> {warningThresholds.join(', ')}
      </li>
    )}
  </ul>
)

const Stroke: FC<{ kind: 'dash' | 'share' }> = ({ kind }) => (
  <svg class="sw" width="24" height="12" aria-hidden="true">
    <line class={kind} x1="0" x2="24" y1="6" y2="6" />
  </svg>
)

interface TooltipLine {
  name: string
  text: string
  slot: number
}

interface ChartTooltipProps {
  /** Horizontal position in the chart, 0 to 1. */
  at: number
  heading: string
  total: string
  lines: TooltipLine[]
}

const lineHeight = 17
const pad = 10
const nameCharsMax = 18
/** Average character widths in pixels at axis font size, rounded up; the heading is bold. */
const charWidth = 6.6
const headCharWidth = 7.6

const shorten = (name: string): string => shortenText(name, nameCharsMax)

/** Draws the tooltip of a bar beside the bar, towards the middle of the chart so that it fits. */
const ChartTooltip: FC<ChartTooltipProps> = ({ at, heading: head, total, lines }) => {
  const widest = Math.max(
    (head.length + total.length + 1) * headCharWidth,
    ...lines.map(({ name, text }) => (shorten(name).length + text.length + 4) * charWidth),
  )
  const width = Math.round(widest + 2 * pad)
  const height = (lines.length + 1) * lineHeight + pad
  const left = at < 0.4 ? 8 : at > 0.6 ? -width - 8 : -width / 2
  return (
    <svg class="tip" x={`${(at * 100).toFixed(2)}%`} overflow="visible" aria-hidden="true">
      <g transform={`translate(${left} 4)`}>
        <rect width={width} height={height} rx="4" />
        <text x={pad} y={lineHeight} class="head">
          {head}
        </text>
        <text x={width - pad} y={lineHeight} class="head" text-anchor="end">
          {total}
        </text>
        {lines.map(({ name, text, slot }, index) => (
          <g transform={`translate(0 ${(index + 2) * lineHeight})`}>
            <svg x={pad} y="-10" overflow="visible" aria-hidden="true">
              <Swatch slot={slot} />
            </svg>
            <text x={pad + 18}>{shorten(name)}</text>
            <text x={width - pad} text-anchor="end">
              {text}
            </text>
          </g>
        ))}
      </g>
    </svg>
  )
}

/** Returns the colour slot of a series: 1 to 8, or 9 for the sum of all others. */
export const toColorSlot = (index: number, count: number, hasOthers: boolean): number =>
  hasOthers && index === count - 1 ? 9 : index + 1

/** Returns class and fill of a slot. From slot 5 on a pattern distinguishes series without colour vision or in print. */
const toFillProps = (slot: number) =>
  slot > 4 ? { class: 'k', fill: `url(#k${slot})` } : { class: `k k${slot}` }

/** Defines the fill patterns for all charts of a page. */
export const ChartPatterns: FC = () => (
  <svg class="defs" width="0" height="0" aria-hidden="true">
    {[5, 6, 7, 8, 9].map((slot) => (
      <pattern
        id={`k${slot}`}
        width="5"
        height="5"
        patternUnits="userSpaceOnUse"
        patternTransform={`rotate(${slot % 2 ? 45 : -45})`}
      >
        <rect class={`k${slot}`} width="5" height="5" />
        <line class="hatch" x1="0" x2="0" y1="0" y2="5" />
      </pattern>
    ))}
  </svg>
)

/** Draws a square in the colour of a series. */
export const Swatch: FC<{ slot: number }> = ({ slot }) => (
  <svg class="sw" width="12" height="12" aria-hidden="true">
    <rect {...toFillProps(slot)} width="12" height="12" rx="2" />
  </svg>
)

/** A series of a chart, drawn in one colour. */
interface ChartSeries {
  /** Null: the sum of all series that are too small for a colour of their own. */
  id: string | null
  name: string
}

interface ChartBucket {
  fromDay: number
  /** Exclusive. */
  toDay: number
  /** Usage by series, in the order of the series. */
  cells: UsageTotals[]
}

export interface UsageChart {
  unit: Unit
  series: ChartSeries[]
  buckets: ChartBucket[]
}

const zeroSums: UsageTotals = {
  calls: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  costMicrousd: 0,
  unpricedCalls: 0,
  unpricedTokens: 0,
}

const addSums = (a: UsageTotals, b: UsageTotals): UsageTotals => ({
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costMicrousd: a.costMicrousd + b.costMicrousd,
  unpricedCalls: a.unpricedCalls + b.unpricedCalls,
  unpricedTokens: a.unpricedTokens + b.unpricedTokens,
})

export const toAmount = (sums: UsageTotals, unit: Unit): number =>
  unit === 'usd' ? sums.costMicrousd : sums.inputTokens + sums.outputTokens

const missingNames = { agent: 'deleted account', community: 'no community' } as const

/** Returns the name of a series, with a fallback for deleted accounts and for no community. */
export const formatSeriesName = (
  { id, name }: Pick<UsageSeries, 'id' | 'name'>,
  by: string,
): string =>
  name ||
  (by === 'community' && id ? privateCommunityLabel : id) ||
  missingNames[by as keyof typeof missingNames] ||
  'unknown'

/**
 * Lists the series of a view, greatest first as in its table. The order doesn't depend on bucket or
 * unit, so that a series keeps its colour. The sum of all others comes last.
 */
function listSeries(view: UsageView, rows: UsageSeries[], days: SeriesDay[]): ChartSeries[] {
  const ids = new Set(days.map(({ id }) => id))
  const named = rows
    .filter(({ id }) => ids.has(id))
    .map((row) => ({ id: row.id as string | null, name: formatSeriesName(row, view.by) }))
  const hasOthers = days.some(({ id, day }) => id === null && day >= view.fromDay)
  return hasOthers ? [...named, { id: null, name: 'others' }] : named
}

/** Sums days into the given buckets; days outside of them are ignored. */
function fillBuckets(
  starts: number[],
  each: UsageView['each'],
  series: ChartSeries[],
  days: SeriesDay[],
): ChartBucket[] {
  const indexes = new Map(series.map(({ id }, index) => [id, index]))
  const byStart = new Map<number, ChartBucket>()
  for (const start of starts) {
    const cells = series.map(() => zeroSums)
    byStart.set(start, { fromDay: start, toDay: endOfBucket(start, each), cells })
  }
  for (const day of days) {
    const cells = byStart.get(startOfBucket(day.day, each))?.cells
    const index = indexes.get(day.id)
    const sums = index === undefined ? undefined : cells?.[index]
    if (cells && index !== undefined && sums) cells[index] = addSums(sums, day)
  }
  return [...byStart.values()]
}

/**
 * Returns a stacked chart of usage over time, in tokens when all usage in it that is not free has no price. Tokens of the
 * offline model are free.
 */
export function composeChart(view: UsageView, rows: UsageSeries[], days: SeriesDay[]): UsageChart {
  const series = listSeries(view, rows, days)
  const within = days.filter(({ day }) => day >= view.fromDay)
  const buckets = fillBuckets(listBuckets(view), view.each, series, within)
  const isUnpriced =
    within.every(({ costMicrousd }) => costMicrousd === 0) &&
    within.some(({ unpricedTokens }) => unpricedTokens > 0)
  return { unit: view.unit ?? (isUnpriced ? 'tokens' : 'usd'), series, buckets }
}

/** Returns cumulative usage by day, from `fromDay` until today. */
function composeCumulativeBuckets(
  view: UsageView,
  series: ChartSeries[],
  days: SeriesDay[],
  fromDay: number,
): ChartBucket[] {
  const starts = Array.from({ length: view.today - fromDay + 1 }, (_, index) => fromDay + index)
  const daily = fillBuckets(starts, 'day', series, days)
  let before = series.map(() => zeroSums)
  return daily.map((bucket) => {
    before = bucket.cells.map((cell, index) => addSums(cell, before[index] ?? zeroSums))
    return { ...bucket, cells: before }
  })
}

/** Lists four to six round axis values from 0 up to at least `max`. */
export function listTicks(max: number): number[] {
  if (max <= 0) return [0, 1]
  const raw = max / 5
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, index) => index * step)
}

const createDayFormat = (options: Intl.DateTimeFormatOptions) => {
  const getDates = keep(() => new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }))
  return (day: number) =>
    getDates()
      .format(day * DAY_MS)
      .replaceAll(' ', NBSP)
}
const longDay = createDayFormat({ weekday: 'short', day: 'numeric', month: 'short' })
const longMonth = createDayFormat({ month: 'long', year: 'numeric' })
const shortMonth = createDayFormat({ month: 'short' })
const shortDay = createDayFormat({ day: 'numeric', month: 'short' })
/** Formats a day, as `21 Nov 2026`. */
export const formatFullDay = createDayFormat({ day: 'numeric', month: 'short', year: 'numeric' })

/** Formats a bucket, as `Sat 21 Nov`, `16 Nov to 22 Nov` or `November 2026`. */
export function formatBucket({ fromDay, toDay }: ChartBucket, each: Bucket): string {
  if (each === 'day') return longDay(fromDay)
  if (each === 'month') return longMonth(fromDay)
  return `${shortDay(fromDay)} to ${shortDay(toDay - 1)}`
}

/** Formats a day or month for an axis. */
export const formatTick = (day: number, each: Bucket): string =>
  each === 'month' ? shortMonth(day) : shortDay(day)

const compact = keep(() => new Intl.NumberFormat('en-US', { notation: 'compact' }))

/** Formats an axis value with the digits that its step needs, as `$50`, `$0.50`, `$0.005` or `1.2M`. */
export function formatAxisValue(value: number, step: number, unit: Unit): string {
  if (unit === 'tokens') return compact().format(value)
  const dollars = step / 1_000_000
  let digits = 0
  while (
    digits < 6 &&
    Math.abs(dollars * 10 ** digits - Math.round(dollars * 10 ** digits)) > 1e-9
  ) {
    digits += 1
  }
  const shown = value === 0 ? 0 : digits === 1 ? 2 : digits
  return `$${(value / 1_000_000).toLocaleString('en-US', { minimumFractionDigits: shown, maximumFractionDigits: shown })}`
}
