import { findFirst, readOffsets } from '../../shared/local-time'

/** Hours in which nothing is sent, in local time. */
export interface QuietHours {
  /** Minutes after local midnight; null: there are none. */
  quietFrom: number | null
  quietTo: number | null
  /** IANA name. */
  timezone: string
}

const minuteMs = 60_000
const dayMs = 86_400_000

/** Returns when the quiet hours end that hold at a time; null when none do. They may span midnight. */
export function findQuietEnd(
  { quietFrom, quietTo, timezone }: QuietHours,
  now: number,
): number | null {
  if (quietFrom === null || quietTo === null || quietFrom === quietTo) return null
  const offsetAt = readOffsets(timezone)
  const reading = now + offsetAt(now)
  const midnight = Math.floor(reading / dayMs) * dayMs
  const minute = (reading - midnight) / minuteMs
  const spansMidnight = quietFrom > quietTo
  const isQuiet = spansMidnight
    ? minute >= quietFrom || minute < quietTo
    : minute >= quietFrom && minute < quietTo
  if (!isQuiet) return null
  const endDay = spansMidnight && minute >= quietFrom ? midnight + dayMs : midnight
  // Where clocks go back, the end comes twice; the second one is still ahead then.
  return Math.max(findFirst(offsetAt, endDay + quietTo * minuteMs), now + minuteMs)
}
