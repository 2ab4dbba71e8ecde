import type { FC } from 'hono/jsx'
import { formatShare } from './format'

export type BudgetLevel = 'healthy' | 'warning' | 'throttle' | 'critical'

/** Shares of a limit at which something changes (B3). */
export const levelAt = (share: number): BudgetLevel =>
  share >= 1 ? 'critical' : share >= 0.9 ? 'throttle' : share >= 0.8 ? 'warning' : 'healthy'

const looks = {
  healthy: { name: 'ok', path: 'M5 .5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z' },
  warning: { name: 'warn', path: 'M5 0l5 9.5H0z' },
  throttle: { name: 'hot', path: 'M5 0l5 5-5 5-5-5z' },
  critical: { name: 'crit', path: 'M.5.5h9v9h-9z' },
} as const

/** A status is a shape and a word, never a colour alone. */
export const Status: FC<{ level: BudgetLevel }> = ({ level }) => (
  <span class={`st ${looks[level].name}`}>
    <svg viewBox="0 0 10 10" aria-hidden="true">
      <path d={looks[level].path} />
    </svg>
    {level}
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
}

/** Share of a limit with marks at 80, 90 and 100 %. */
export const Meter: FC<MeterProps> = ({ share, reserved = 0, label }) => {
  const level = levelAt(share)
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
        {[80, 90, 100].map((at) => (
          <line x1={at} x2={at} y1="0" y2="14" />
        ))}
      </svg>
      <span class="p80">80</span>
      <span class="p90">90</span>
      <span class="p100">100</span>
    </div>
  )
}
