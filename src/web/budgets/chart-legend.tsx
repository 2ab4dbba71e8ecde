import type { FC } from 'hono/jsx'
import { warningThresholds } from '../../hub/budgets/levels'
import type { UsageDimension } from '../../hub/budgets/usage-view'
import { Swatch, toColorSlot } from './chart-colors'
import type { ChartSeries } from './chart-data'

export interface LegendProps {
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
