import type { FC } from 'hono/jsx'
import { formatAgo, formatExact, toIso } from '../../shared/format'

/** Shows a relative time, with the exact time on hover. */
export const RelativeTime: FC<{ at: number; now: number }> = ({ at, now }) => (
  <time datetime={toIso(at)} title={formatExact(at)}>
    {formatAgo(at, now)}
  </time>
)
