import type { FC } from 'hono/jsx'

/** Returns the colour slot of a series: 1 to 8, or 9 for the sum of all others. */
export const toColorSlot = (index: number, count: number, hasOthers: boolean): number =>
  hasOthers && index === count - 1 ? 9 : index + 1

/** Returns class and fill of a slot. From slot 5 on a pattern distinguishes series without colour vision or in print. */
export const toFillProps = (slot: number) =>
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
