/** A browser that opens no feed for this long has left. */
const awayMs = 30 * 60_000

/** When a browser was here: the end of the stay before this one, and the last time in this one. */
interface Stay {
  /** Null in the first stay. */
  since: number | null
  last: number
}

/** Returns the stay that goes on or begins now. */
export function continueStay(kept: string | undefined, now: number): Stay {
  const [, since = '', last = ''] = /^(\d{0,15})-(\d{1,15})$/.exec(kept ?? '') ?? []
  if (last === '') return { since: null, last: now }
  if (now - Number(last) > awayMs) return { since: Number(last), last: now }
  return { since: since === '' ? null : Number(since), last: now }
}

/** Returns a stay as `continueStay` reads it. */
export const formatStay = ({ since, last }: Stay): string => `${since ?? ''}-${last}`
