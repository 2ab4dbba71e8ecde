let second = Number.NaN
let beginning = ''

/**
 * A time as ISO 8601, in milliseconds since the Unix epoch. Writing a date out takes a microsecond,
 * and most of what is written falls into the same second, so its beginning is kept.
 *
 * @throws RangeError for what is no time
 */
export function toIsoTime(ms: number): string {
  const at = Math.floor(ms / 1_000)
  if (at !== second) {
    beginning = new Date(at * 1_000).toISOString().slice(0, -'000Z'.length)
    second = at
  }
  return `${beginning}${String(Math.floor(ms) - at * 1_000).padStart(3, '0')}Z`
}
