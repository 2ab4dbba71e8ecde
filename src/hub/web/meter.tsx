import type { FC } from 'hono/jsx'
import { budgetLimits } from '../../config'
import { formatShare } from './format'

export type BudgetLevel = 'healthy' | 'warning' | 'throttle' | 'critical'

/** Shares of a limit at which something changes (B3). */
export interface MeterMarks {
  warningShare: number
  throttleShare: number
  criticalShare: number
}

export function levelAt(share: number, marks: MeterMarks = budgetLimits): BudgetLevel {
  if (share >= marks.criticalShare) return 'critical'
  if (share >= marks.throttleShare) return 'throttle'
  return share >= marks.warningShare ? 'warning' : 'healthy'
}

const looks = {
  healthy: { name: 'ok', path: 'M5 .5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z' },
  warning: { name: 'warn', path: 'M5 0l5 9.5H0z' },
  throttle: { name: 'hot', path: 'M5 0l5 5-5 5-5-5z' },
  critical: { name: 'crit', path: 'M.5.5h9v9h-9z' },
} as const

/** A status is a shape and a word, never a colour alone. */
export const Status: FC<{ level: BudgetLevel }> = ({ level }) => (
  <StatusShape look={looks[level].name} word={level} />
)

const paths = Object.fromEntries(Object.values(looks).map(({ name, path }) => [name, path]))

/** The same for what is no share of a limit. */
export const StatusShape: FC<{ look: 'ok' | 'warn' | 'hot' | 'crit'; word: string }> = (props) => (
  <span class={`st ${props.look}`}>
    <svg viewBox="0 0 10 10" aria-hidden="true">
      <path d={paths[props.look]} />
    </svg>
    {props.word}
  </span>
)

/** The scale ends here, so that the mark of 100 % has room behind it. */
const percentMax = 110

export interface MeterProps {
  /** 0 to 1 and beyond. */
  share: number
  /** Share that running work has reserved on top. */
  reserved?: number
  label: string
  /** Where the level changes; the usual shares when it is not said. */
  marks?: MeterMarks
}

/** The words stand apart from each other only when the marks do. */
const isApart = (places: number[]): boolean =>
  places.every((place, index) => index === 0 || place - (places[index - 1] ?? 0) >= 7)

/** Share of a limit with marks where its level changes. */
export const Meter: FC<MeterProps> = ({ share, reserved = 0, label, marks = budgetLimits }) => {
  const level = levelAt(share, marks)
  const places = [marks.warningShare, marks.throttleShare, marks.criticalShare].map((mark) =>
    Math.min(percentMax, mark * 100),
  )
  const used = Math.min(percentMax, share * 100)
  const held = Math.min(percentMax - used, reserved * 100)
  return (
    <div
      class={`meter ${looks[level].name}`}
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
      {isApart(places) && (
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
