import { Cron } from 'croner'

/** The five fields of a crontab; nicknames such as @daily too. Nothing runs: it only computes times. */
const parse = (cron: string, timezone: string): Cron =>
  new Cron(cron, { timezone, mode: cron.trim().startsWith('@') ? 'auto' : '5-part', paused: true })

/**
 * The first due time after `after`, in milliseconds since the epoch; null when there is none, such
 * as for the 30th of February. Where clocks are set forward, a time that does not exist is due when
 * the gap ends; where they are set back, a time that comes twice is due once.
 */
export function computeNextDue(cron: string, timezone: string, after: number): number | null {
  return parse(cron, timezone).nextRun(new Date(after))?.getTime() ?? null
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
