let second = Number.NaN
let prefix = ''

/**
 * Formats a time, in milliseconds since the Unix epoch, as ISO 8601. Formatting a date takes a
 * microsecond and most calls fall into the same second, so the prefix up to the second is cached.
 *
 * @throws RangeError for an invalid time
 */
export function toIsoTime(ms: number): string {
  const at = Math.floor(ms / 1_000)
  if (at !== second) {
    prefix = new Date(at * 1_000).toISOString().slice(0, -'000Z'.length)
    second = at
  }
  return `${prefix}${String(Math.floor(ms) - at * 1_000).padStart(3, '0')}Z`
}
