import type { FC } from 'hono/jsx'
import { shortenText } from '../../shared/cut-text'
import { Swatch } from './chart-colors'

export interface TooltipLine {
  name: string
  text: string
  slot: number
}

export interface ChartTooltipProps {
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
export const ChartTooltip: FC<ChartTooltipProps> = ({ at, heading: head, total, lines }) => {
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
