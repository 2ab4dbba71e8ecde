import { Cron } from 'croner'

const minuteMs = 60_000
const dayMs = 86_400_000

/**
 * Due times as a clock on the wall shows them, each written as if it were UTC. Nothing runs: this only
 * computes times. The five fields of a crontab; nicknames such as @daily too.
 */
function readPattern(cron: string): (after: number) => number | null {
  const mode = cron.trim().startsWith('@') ? 'auto' : '5-part'
  const pattern = new Cron(cron, { utcOffset: 0, mode, paused: true })
  return (after) => pattern.nextRun(new Date(after))?.getTime() ?? null
}

/** What is due in every hour of its days. */
const isHourly = (cron: string): boolean =>
  cron.trim() === '@hourly' || /^\s*\S+\s+(\*|\*\/1|0-23)\s/.test(cron)

/**
 * The first due time after `after`, in milliseconds since the epoch; null when there is none, such
 * as for the 30th of February. Where clocks are set forward, a time that does not exist is due when
 * the gap ends; where they are set back, a time that comes twice is due once, but what is due in every
 * hour is due in each of the two.
 */
export function computeNextDue(cron: string, timezone: string, after: number): number | null {
  const next = readPattern(cron)
  const offsetAt = readOffsets(timezone)
  return isHourly(cron) ? findHourly(next, offsetAt, after) : findOnce(next, offsetAt, after)
}

type Next = ReturnType<typeof readPattern>
type OffsetAt = (at: number) => number

/** Goes on with one offset until clocks are changed, and from there with the next. */
function findHourly(next: Next, offsetAt: OffsetAt, after: number): number | null {
  const earliest = after + 1
  const offset = offsetAt(earliest)
  const reading = next(after + offset)
  if (reading === null) return null
  const due = reading - offset
  const change = findChange(offsetAt, earliest, due)
  return change === null ? due : findHourly(next, offsetAt, change - 1)
}

/** What the clock shows a second time is over. */
function findOnce(next: Next, offsetAt: OffsetAt, after: number): number | null {
  let reading = next(after + offsetAt(after))
  while (reading !== null) {
    const due = findFirst(offsetAt, reading)
    if (due > after) return due
    reading = next(reading)
  }
  return null
}

/** When the clock shows this for the first time; when it never does, the end of the gap. */
function findFirst(offsetAt: OffsetAt, reading: number): number {
  const [before, later] = [offsetAt(reading - dayMs), offsetAt(reading + dayMs)]
  const early = reading - Math.max(before, later)
  const late = reading - Math.min(before, later)
  if (early + offsetAt(early) === reading) return early
  if (late + offsetAt(late) === reading) return late
  return findChange(offsetAt, early, late) ?? late
}

/** A moment after `from`, by `to` at the latest, from which on the offset is not that of `from`. */
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

/** How far clocks are ahead of UTC at a time, in milliseconds. */
function readOffsets(timezone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' })
  return (at) => {
    const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * minuteMs
  }
}

/** What is wrong with a schedule's entry, by field; null when nothing is. */
export function findCronProblem(
  cron: string,
  timezone: string,
): { field: 'cron' | 'timezone'; message: string } | null {
  try {
    Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    return { field: 'timezone', message: `unknown time zone ${timezone}, e.g. Europe/Berlin` }
  }
  try {
    if (computeNextDue(cron, timezone, 0) !== null) return null
    return { field: 'cron', message: 'never due' }
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : ''
    return {
      field: 'cron',
      message: `not a cron expression of five fields, e.g. "0 9 * * 1-5": ${reason}`,
    }
  }
}
