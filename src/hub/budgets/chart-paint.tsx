import type { FC } from 'hono/jsx'

/** Colours one to eight, and one for all others. */
export const slotOf = (place: number, count: number, hasOthers: boolean): number =>
  hasOthers && place === count - 1 ? 9 : place + 1

/** From the fifth series on a pattern tells it apart too, for eyes and printers without colours. */
export const paint = (slot: number) =>
  slot > 4 ? { class: 'k', fill: `url(#k${slot})` } : { class: `k k${slot}` }

/** The patterns of all charts of a page. */
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

/** A square of a series' colour, beside its name. */
export const Swatch: FC<{ slot: number }> = ({ slot }) => (
  <svg class="sw" width="12" height="12" aria-hidden="true">
    <rect {...paint(slot)} width="12" height="12" rx="2" />
  </svg>
)
