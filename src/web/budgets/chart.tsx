import type { FC, PropsWithChildren } from 'hono/jsx'
import type { Unit } from '../../hub/budgets/usage-view'
import { toColorSlot, toFillProps } from './chart-colors'
import { listTicks } from './chart-data'
import { ChartTooltip, type TooltipLine } from './chart-tooltip'
import { formatAmount, formatAxisValue } from './format-chart'

/** A bar of a chart with the value of each series, in the order of the series. */
export interface Bar {
  label: string
  /** Axis label; null for none. */
  tick: string | null
  values: number[]
}

export interface ChartProps {
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
