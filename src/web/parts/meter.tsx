import type { FC } from 'hono/jsx'
import { type BudgetLevel, type Thresholds, thresholds } from '../../hub/rules/budget-levels'
import { formatShare } from '../../shared/format'
import { Submit } from '../form/fields'

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

const iconPaths = Object.fromEntries(Object.values(looks).map(({ name, path }) => [name, path]))

/** Shows any status as a shape and a word. */
export const StatusShape: FC<{ look: 'ok' | 'warn' | 'hot' | 'crit'; word: string }> = (props) => (
  <span class={`st ${props.look}`}>
    <svg viewBox="0 0 10 10" aria-hidden="true">
      <path d={iconPaths[props.look]} />
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

interface MeterProps {
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

const paths = {
  check: ['M3 8.5l3.2 3.2L13 5'],
  download: ['M8 3v8M4.5 7.8L8 11.3l3.5-3.5M3 13.5h10'],
  up: ['M8 12V4M4.5 7.5L8 4l3.5 3.5'],
  down: ['M8 4v8M4.5 8.5L8 12l3.5-3.5'],
  lock: ['M4 7.2h8v6H4z', 'M5.6 7.2V5a2.4 2.4 0 0 1 4.8 0v2.2'],
  stop: ['M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2z', 'M8 5v3.6M8 11v.1'],
} as const

/** A line icon in the colour and size of its text, hidden from screen readers: a word is beside it. */
export const Icon: FC<{ name: keyof typeof paths }> = ({ name }) => (
  <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
    {paths[name].map((d) => (
      <path d={d} />
    ))}
  </svg>
)

/** A tower with a circle in it, for agents and people. */
const logoPath =
  'M2 2h4.4v4h3.4V2h4.4v4h3.4V2H22v20H2zm10 7.6a4.3 4.3 0 1 0 0 8.6 4.3 4.3 0 0 0 0-8.6z'

export const Logo: FC = () => (
  <svg viewBox="0 0 24 24" aria-hidden="true">
    <path fill-rule="evenodd" d={logoPath} />
  </svg>
)

/** Served as `/favicon.svg`; follows the theme of the browser. */
export const faviconSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">' +
  '<style>path{fill:#0b6070}@media(prefers-color-scheme:dark){path{fill:#66c3d0}}</style>' +
  `<path fill-rule="evenodd" d="${logoPath}"/></svg>`

interface ToggleFormProps {
  action: string
  isOn: boolean
  /** The labels of the button: what it starts, and what it ends. */
  labels: { start: string; end: string }
}

/** A button that starts or ends something; the form's field `on` is `yes` or `no`. */
export const ToggleForm: FC<ToggleFormProps> = ({ action, isOn, labels }) => (
  <form method="post" action={action}>
    <Submit name="on" value={isOn ? 'no' : 'yes'}>
      {isOn ? labels.end : labels.start}
    </Submit>
  </form>
)
