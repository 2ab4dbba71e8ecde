import type { FC } from 'hono/jsx'
import { formatDuration } from '../../shared/format'

/** Shows the time since `since`; the script keeps it up to date. */
export const ElapsedTime: FC<{ since: number; now: number }> = ({ since, now }) => (
  <span class="num" data-since={since}>
    {formatDuration(now - since)}
  </span>
)
