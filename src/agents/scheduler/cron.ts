import { Cron } from 'croner'

/** The five fields of a crontab; nicknames such as @daily too. Nothing runs: it only computes times. */
const parse = (cron: string, timezone: string): Cron =>
  new Cron(cron, { timezone, mode: cron.trim().startsWith('@') ? 'auto' : '5-part', paused: true })

/** What is due in every hour; the fields of the day say nothing either. */
const isHourly = (cron: string): boolean =>
  cron.trim() === '@hourly' || /^\s*\S+\s+\*\s+\*\s+\*\s+\*\s*$/.test(cron)

/**
 * The first due time after `after`, in milliseconds since the epoch; null when there is none, such
 * as for the 30th of February. Where clocks are set forward, a time that does not exist is due when
 * the gap ends; where they are set back, a time that comes twice is due once, but what is due in every
 * hour is due in each of the two.
 */
export function computeNextDue(cron: string, timezone: string, after: number): number | null {
  const due = parse(cron, timezone).nextRun(new Date(after))?.getTime() ?? null
  if (due === null || !isHourly(cron)) return due
  // The clock as it would go on without being set back knows no hour twice, and leaves none out.
  const steady = new Cron(cron, { utcOffset: readOffset(timezone, after), paused: true })
  return Math.min(due, steady.nextRun(new Date(after))?.getTime() ?? due)
}

/** Minutes that clocks are ahead of UTC then. */
function readOffset(timezone: string, at: number): number {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' })
  const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0))
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
