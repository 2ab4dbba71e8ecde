/**
 * A budget period in a time zone. Its windows are computed here, so that SQL only compares numbers
 * (see `budget_windows` in the migrations).
 */
export interface Period {
  period: 'day' | 'week' | 'month'
  /** Week: 1 (Monday) to 7. Month: 1 to 28. Day: ignored. */
  resetDay: number
  /** IANA name. */
  timezone: string
}

export interface Window {
  startsAt: number
  endsAt: number
}

interface Day {
  year: number
  /** 1 to 12; 13 is next January, as Date.UTC has it. */
  month: number
  day: number
}

const DAY_MS = 86_400_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns a cached formatter: creating one costs far more than using it. */
function getFormat(timezone: string): Intl.DateTimeFormat {
  const cached = formats.get(timezone)
  if (cached) return cached
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  formats.set(timezone, format)
  return format
}

/** Returns the calendar day of a time in a time zone, and the zone's UTC offset at that time. */
function readLocalDay(at: number, timezone: string): Day & { offsetMs: number } {
  const part = Object.fromEntries(
    getFormat(timezone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
  const offsetMs =
    Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000
  return { year, month, day, offsetMs }
}

/**
 * Returns when a calendar day begins in a time zone. The offset is taken at the guess and again at the
 * result, so that a daylight-saving change in between is right. Where the clock skips midnight, the
 * day begins when the clock goes on.
 */
function startOfDay({ year, month, day }: Day, timezone: string): number {
  const utc = Date.UTC(year, month - 1, day)
  const guess = utc - readLocalDay(utc, timezone).offsetMs
  const start = utc - readLocalDay(guess, timezone).offsetMs
  return readLocalDay(start, timezone).day === new Date(utc).getUTCDate() ? start : guess
}

function firstDay(at: number, { period, resetDay, timezone }: Period): Day {
  const today = readLocalDay(at, timezone)
  if (period === 'day') return today
  if (period === 'month') {
    const month = today.day >= resetDay ? today.month : today.month - 1
    return { year: today.year, month, day: resetDay }
  }
  const weekday = new Date(Date.UTC(today.year, today.month - 1, today.day)).getUTCDay() || 7
  return { ...today, day: today.day - ((weekday - resetDay + 7) % 7) }
}

function nextDay(from: Day, period: Period['period']): Day {
  const step = { day: { day: 1 }, week: { day: 7 }, month: { month: 1 } }[period]
  const moved = new Date(
    Date.UTC(
      from.year,
      from.month - 1 + ('month' in step ? step.month : 0),
      from.day + ('day' in step ? step.day : 0),
    ),
  )
  return { year: moved.getUTCFullYear(), month: moved.getUTCMonth() + 1, day: moved.getUTCDate() }
}

/** Lists the window that contains `from` and the following ones, until one ends after `until`. */
export function listWindows(period: Period, from: number, until: number): Window[] {
  const windows: Window[] = []
  let day = firstDay(from, period)
  let startsAt = startOfDay(day, period.timezone)
  while (startsAt <= until) {
    day = nextDay(day, period.period)
    const endsAt = startOfDay(day, period.timezone)
    // a day that a zone skipped (Samoa, 2011-12-30) has no window
    if (endsAt > startsAt) windows.push({ startsAt, endsAt })
    startsAt = endsAt
  }
  return windows
}

/** How far ahead windows are created; a start or a sweep creates the next ones long before. */
export const windowsAheadMs = 62 * DAY_MS

/** How far back windows are created, so that a clock that goes back or lags still finds one. */
export const windowsBehindMs = DAY_MS
