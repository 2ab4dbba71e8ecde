import { Cron } from 'croner'

const minuteMs = 60_000
const dayMs = 86_400_000

/**
 * Returns a function that computes the next due time of a cron expression in local time, written as if
 * it were UTC; null when there is none. Accepts five fields, or a nickname such as @daily.
 */
function readPattern(cron: string): (after: number) => number | null {
  const mode = cron.trim().startsWith('@') ? 'auto' : '5-part'
  const pattern = new Cron(cron, { utcOffset: 0, mode, paused: true })
  return (after) => pattern.nextRun(new Date(after))?.getTime() ?? null
}

/** Returns whether a cron expression is due in every hour of its days. */
const isHourly = (cron: string): boolean =>
  cron.trim() === '@hourly' || /^\s*\S+\s+(\*|\*\/1|0-23)\s/.test(cron)

/**
 * Returns the first due time after `after`, in milliseconds since the epoch; null when there is none,
 * such as for the 30th of February. When clocks are set forward, a skipped time is due at the end of
 * the gap. When they are set back, a repeated time is due once, except that an hourly schedule is due
 * in both hours.
 */
export function computeNextDue(cron: string, timezone: string, after: number): number | null {
  const next = readPattern(cron)
  const offsetAt = readOffsets(timezone)
  return isHourly(cron) ? findHourly(next, offsetAt, after) : findOnce(next, offsetAt, after)
}

type Next = ReturnType<typeof readPattern>
type OffsetAt = (at: number) => number

/** Returns the next due time of an hourly schedule: by one offset up to a clock change, then by the next. */
function findHourly(next: Next, offsetAt: OffsetAt, after: number): number | null {
  const earliest = after + 1
  const offset = offsetAt(earliest)
  const reading = next(after + offset)
  if (reading === null) return null
  const due = reading - offset
  const change = findChange(offsetAt, earliest, due)
  return change === null ? due : findHourly(next, offsetAt, change - 1)
}

/** Returns the next due time of other schedules, for which a repeated local time is due once. */
function findOnce(next: Next, offsetAt: OffsetAt, after: number): number | null {
  let reading = next(after + offsetAt(after))
  while (reading !== null) {
    const due = findFirst(offsetAt, reading)
    if (due > after) return due
    reading = next(reading)
  }
  return null
}

/** Returns when local clocks first show a time; the end of the gap when they skip it. */
function findFirst(offsetAt: OffsetAt, reading: number): number {
  const [before, later] = [offsetAt(reading - dayMs), offsetAt(reading + dayMs)]
  const early = reading - Math.max(before, later)
  const late = reading - Math.min(before, later)
  if (early + offsetAt(early) === reading) return early
  if (late + offsetAt(late) === reading) return late
  return findChange(offsetAt, early, late) ?? late
}

/** Returns when the offset changes between `from` (exclusive) and `to`; null when it doesn't. */
function findChange(offsetAt: OffsetAt, from: number, to: number): number | null {
  const offset = offsetAt(from)
  if (offsetAt(to) === offset) return null
  let [low, high] = [from, to]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle) === offset) low = middle
    else high = middle
  }
  return high
}

/** Returns a function that computes a time zone's offset from UTC at a time, in milliseconds. */
function readOffsets(timezone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' })
  return (at) => {
    const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * minuteMs
  }
}

/** Returns the first problem of a schedule, by field; null when it is valid. */
export function findCronProblem(
  cron: string,
  timezone: string,
): { field: 'cron' | 'timezone'; message: string } | null {
  try {
    Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    return {
      field: 'timezone',
      message: `unknown time zone ${timezone}; use an IANA name, e.g. Europe/Berlin`,
    }
  }
  try {
    if (computeNextDue(cron, timezone, 0) !== null) return null
    return { field: 'cron', message: 'never due; check the day and the month' }
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : ''
    return {
      field: 'cron',
      message: `must be a cron expression of five fields, e.g. "0 9 * * 1-5": ${reason}`,
    }
  }
}
