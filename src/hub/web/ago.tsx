import type { FC } from 'hono/jsx'
import { formatAgo, formatExact, toIso } from './format'

/** A relative time with the exact one on hover. */
export const Ago: FC<{ at: number; now: number }> = ({ at, now }) => (
  <time datetime={toIso(at)} title={formatExact(at)}>
    {formatAgo(at, now)}
  </time>
)
