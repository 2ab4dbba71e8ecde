import { Cron } from 'croner'
import {
  describeZone,
  findChange,
  findFirst,
  isTimezone,
  type OffsetAt,
  readOffsets,
} from '../../shared/local-time'

/**
 * Returns a function that computes the next due time of a cron expression in local time, written as if
 * it were UTC; null when there is none. Accepts five fields, or a nickname such as @daily.
 */
function readPattern(cron: string): (after: number) => number | null {
  const { text, domAndDow } = readDays(cron.trim())
  const mode = text.startsWith('@') ? 'auto' : '5-part'
  const pattern = new Cron(text, { utcOffset: 0, mode, domAndDow, paused: true })
  return (after) => pattern.nextRun(new Date(after))?.getTime() ?? null
}

/**
 * Returns an expression with `*` for `?` in a field of days, as Quartz writes it, and whether both of these fields
 * have to fit. Of two that restrict days one is enough, and one that begins with `*` restricts none, as in cron(5).
 */
function readDays(cron: string): { text: string; domAndDow: boolean } {
  const fields = cron.split(/\s+/)
  const [minute, hour, day, month, weekday] = fields
  if (fields.length !== 5 || day === undefined || weekday === undefined) {
    return { text: cron, domAndDow: false }
  }
  const [anyDay, anyWeekday] = [day, weekday].map((field) => (field === '?' ? '*' : field))
  const text = [minute, hour, anyDay, month, anyWeekday].join(' ')
  if (text.includes('?')) throw new Error('? stands alone, for the day or the weekday')
  return {
    text,
    domAndDow: anyDay?.startsWith('*') === true || anyWeekday?.startsWith('*') === true,
  }
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
export const computeNextDue = (cron: string, timezone: string, after: number): number | null =>
  readSchedule(cron, timezone)(after)

/** Returns `computeNextDue` of one schedule, which is read once for all its times. */
export function readSchedule(cron: string, timezone: string): (after: number) => number | null {
  const next = readPattern(cron)
  const offsetAt = readOffsets(timezone)
  const find = isHourly(cron) ? findHourly : findOnce
  return (after) => find(next, offsetAt, after)
}

type Next = ReturnType<typeof readPattern>

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

/** Returns the first problem of a schedule, by field; null when it is valid. */
export function findCronProblem(
  cron: string,
  timezone: string,
): { field: 'cron' | 'timezone'; message: string } | null {
  if (!isTimezone(timezone)) return { field: 'timezone', message: describeZone(timezone) }
  const neverDue = { field: 'cron', message: 'Never due. Check the day and the month' } as const
  try {
    return computeNextDue(cron, timezone, 0) === null ? neverDue : null
  } catch (error) {
    // The library looks for the next month by calling itself.
    if (error instanceof RangeError) return neverDue
    return { field: 'cron', message: `${cronShape}${describeCause(error)}` }
  }
}

const cronShape =
  'Must have five fields, minute, hour, day, month and weekday, such as "0 9 * * 1-5"'

/** Returns what is wrong with one field; nothing when the fields are not five, which the shape says. */
function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const cause = error.message.replace(/^CronPattern: /, '').replace(/(?<!\.)\.+$/, '')
  return cause.startsWith('invalid configuration format') ? '' : `: ${cause}`
}
