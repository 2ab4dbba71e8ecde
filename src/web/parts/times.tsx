import type { FC } from 'hono/jsx'
import type { ScheduleEntry } from '../../agents/contract/agents'
import { formatAgo, formatDuration, formatExact, toIso } from '../../shared/format'

/** Shows the time since `since`; the script keeps it up to date. */
export const ElapsedTime: FC<{ since: number; now: number }> = ({ since, now }) => (
  <span class="num" data-since={since}>
    {formatDuration(now - since)}
  </span>
)

/** Shows a relative time, with the exact time on hover. */
export const RelativeTime: FC<{ at: number; now: number }> = ({ at, now }) => (
  <time datetime={toIso(at)} title={formatExact(at)}>
    {formatAgo(at, now)}
  </time>
)

/** Shows how long it is until a time, with the exact time on hover. */
export const TimeUntil: FC<{ at: number; now: number }> = ({ at, now }) => (
  <time datetime={toIso(at)} title={formatExact(at)}>
    {at <= now ? 'now' : `in ${formatDuration(at - now)}`}
  </time>
)

/** The next runs in the time zone of the schedule, which is named. */
export const NextRuns: FC<{ entry: ScheduleEntry }> = ({ entry: { nextRuns, timezone } }) => (
  <>
    <h3 class="up3">Next runs ({timezone})</h3>
    <ol class="list">
      {nextRuns.map((at) => (
        <li>
          <span>{formatInZone(at, timezone)}</span>
          <span class="r meta">{toIso(at).slice(0, 16).replace('T', ' ')} UTC</span>
        </li>
      ))}
    </ol>
  </>
)

const formatInZone = (at: number, timeZone: string): string =>
  new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  }).format(at)
