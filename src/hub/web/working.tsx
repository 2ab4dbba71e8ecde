import type { FC } from 'hono/jsx'
import { formatDuration } from './format'

/** How long something has been going on; the script counts on, without it the page's own moment stands. */
export const Working: FC<{ since: number; now: number }> = ({ since, now }) => (
  <span class="num" data-since={since}>
    {formatDuration(now - since)}
  </span>
)
