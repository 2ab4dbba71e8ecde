import type { FC } from 'hono/jsx'
import { type BudgetLevel, type Thresholds, thresholds } from '../../hub/budgets/levels'
import { formatShare } from '../../shared/format'

const looks = {
  healthy: { name: 'ok', path: 'M5 .5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z' },
  warning: { name: 'warn', path: 'M5 0l5 9.5H0z' },
  throttle: { name: 'hot', path: 'M5 0l5 5-5 5-5-5z' },
  critical: { name: 'crit', path: 'M.5.5h9v9h-9z' },
} as const

/** Shows a budget's level as a shape and a word, never as a colour alone. */
export const Status: FC<{ level: BudgetLevel }> = ({ level }) => (
  <StatusShape look={looks[level].name} word={level} />
)

const paths = Object.fromEntries(Object.values(looks).map(({ name, path }) => [name, path]))

/** Shows any status as a shape and a word. */
export const StatusShape: FC<{ look: 'ok' | 'warn' | 'hot' | 'crit'; word: string }> = (props) => (
  <span class={`st ${props.look}`}>
    <svg viewBox="0 0 10 10" aria-hidden="true">
      <path d={paths[props.look]} />
    </svg>
    {props.word}
  </span>
)

/** End of the scale in percent, which leaves space after the mark of 100 %. */
const percentMax = 110

/** Draws a share of a whole; its number stands beside it. */
export const ShareBar: FC<{ share: number }> = ({ share }) => (
  <svg class="part" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="10" />
    <rect class="k1" width={(Math.min(1, share) * 100).toFixed(2)} height="10" />
  </svg>
)

export interface MeterProps {
  /** Used share of the limit; 1 is the whole limit. */
  share: number
  /** Share that running activations have reserved in addition. */
  reserved?: number
  label: string
  /** Its level, and the shares at which that changes. */
  budget: Thresholds & { level: BudgetLevel }
}

/** Returns true when the marks are far enough apart for their labels not to overlap. */
const canLabelMarks = (places: number[]): boolean =>
  places.every((place, index) => index === 0 || place - (places[index - 1] ?? 0) >= 7)

/** Shows the used share of a limit, with marks where the level changes. */
export const Meter: FC<MeterProps> = ({ share, reserved = 0, label, budget }) => {
  const places = thresholds.map((each) => Math.min(percentMax, budget[`${each}Share`] * 100))
  const used = Math.min(percentMax, share * 100)
  const held = Math.min(percentMax - used, reserved * 100)
  return (
    <div
      class={`meter ${looks[budget.level].name}`}
      role="img"
      aria-label={`${label}: ${formatShare(share)} used`}
    >
      <svg viewBox={`0 0 ${percentMax} 14`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" y="2" width={percentMax} height="10" />
        <rect class="used" y="2" width={used.toFixed(2)} height="10" />
        {held > 0 && (
          <rect class="held" y="2" x={used.toFixed(2)} width={held.toFixed(2)} height="10" />
        )}
        {places.map((at) => (
          <line x1={at} x2={at} y1="0" y2="14" />
        ))}
      </svg>
      {canLabelMarks(places) && (
        <svg class="marks" aria-hidden="true">
          {places.map((at) => (
            <text x={`${((at / percentMax) * 100).toFixed(2)}%`} y="11" text-anchor="middle">
              {Math.round(at)}
            </text>
          ))}
        </svg>
      )}
    </div>
  )
}
