import { findNearest } from './find-nearest'

/**
 * Local time of a time zone. A reading is what its clocks show, written as if it were UTC: milliseconds
 * since the epoch.
 */
export type OffsetAt = (at: number) => number

const dayMs = 86_400_000
const minuteMs = 60_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns a cached formatter: creating one costs far more than using it. */
function getFormat(timezone: string): Intl.DateTimeFormat {
  const cached = formats.get(timezone)
  if (cached) return cached
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' })
  formats.set(timezone, format)
  return format
}

/**
 * Returns a function that computes the offset of a time zone from UTC at a time, in milliseconds.
 *
 * @param timezone IANA name
 * @throws RangeError for an unknown time zone
 */
export function readOffsets(timezone: string): OffsetAt {
  const format = getFormat(timezone)
  return (at) => {
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(at)) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * minuteMs
  }
}

export function isTimezone(name: string): boolean {
  try {
    return getFormat(name) !== undefined
  } catch {
    return false
  }
}

/** Describes an unknown time zone, with the one that is most likely meant: by its name, or by its city alone. */
export function describeZone(text: string): string {
  const zones = Intl.supportedValuesOf('timeZone')
  const toCity = (zone: string) => zone.slice(zone.lastIndexOf('/') + 1)
  const typed = text.trim().replaceAll(' ', '_')
  const city = findNearest(typed, zones.map(toCity))
  const zone = findNearest(typed, zones) ?? zones.find((each) => toCity(each) === city)
  const hint =
    zone === undefined ? 'Use an IANA name, such as Europe/Berlin' : `Did you mean ${zone}?`
  return `Unknown time zone ${text}. ${hint}`
}

/** Returns when local clocks first show a reading; the end of the gap when they skip it. */
export function findFirst(offsetAt: OffsetAt, reading: number): number {
  const [before, later] = [offsetAt(reading - dayMs), offsetAt(reading + dayMs)]
  const early = reading - Math.max(before, later)
  const late = reading - Math.min(before, later)
  if (early + offsetAt(early) === reading) return early
  if (late + offsetAt(late) === reading) return late
  return findChange(offsetAt, early, late) ?? late
}

/** Returns when the offset changes between `from` (exclusive) and `to`; null when it doesn't. */
export function findChange(offsetAt: OffsetAt, from: number, to: number): number | null {
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
