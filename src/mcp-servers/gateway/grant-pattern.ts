/**
 * Grants are segments between colons: `aws:s3:read:artifacts`. In a pattern `*` stands for one
 * segment, and as the last segment for one or more (M3).
 */

/** Whether everything that `inner` matches is matched by `outer`; a plain grant matches itself. */
export function coversGrant(outer: string, inner: string): boolean {
  if (beginApart(outer, inner)) return false
  const wide = outer.split(':')
  const narrow = inner.split(':')
  const covers = (segment: string, index: number) => segment === '*' || segment === narrow[index]
  if (endsOpen(wide)) return narrow.length >= wide.length && wide.slice(0, -1).every(covers)
  return !endsOpen(narrow) && narrow.length === wide.length && wide.every(covers)
}

/** The pattern of what both patterns match; null when that is nothing. */
export function intersectGrants(one: string, other: string): string | null {
  if (beginApart(one, other)) return null
  const a = one.split(':')
  const b = other.split(':')
  const isFirstShort = a.length < b.length || (a.length === b.length && endsOpen(a))
  const [short, long] = isFirstShort ? [a, b] : [b, a]
  if (endsOpen(short)) return layOver(long, short.slice(0, -1))
  return short.length === long.length && !endsOpen(long) ? layOver(long, short) : null
}

/** Most lines of a policy are about other servers, which the first letters tell without taking them apart. */
function beginApart(one: string, other: string): boolean {
  for (let at = 0; one[at] !== '*' && other[at] !== '*'; at++) {
    if (one[at] !== other[at]) return true
    if (one[at] === ':' || at === one.length) return false
  }
  return false
}

/**
 * What a pattern gives of a tool's grants, all of which have as many segments as their shape; null when
 * that is nothing.
 */
export function meetShape(shape: string, pattern: string): string | null {
  const met = intersectGrants(shape, pattern)
  return met?.split(':').length === shape.split(':').length ? met : null
}

/** Whether a grant names one thing: no wildcard and no empty segment in it. */
export const isPlainGrant = (grant: string): boolean =>
  grant.split(':').every((segment) => segment !== '' && !segment.includes('*'))

/** Whether a pattern ends in something that has a name. */
export const namesResource = (pattern: string): boolean => !endsOpen(pattern.split(':'))

const endsOpen = (segments: string[]): boolean => segments.at(-1) === '*'

/** `base` where its first segments must also match `prefix`. */
function layOver(base: string[], prefix: string[]): string | null {
  const met = base.map((segment, index) => {
    const over = prefix[index]
    if (over === undefined || over === '*' || over === segment) return segment
    return segment === '*' ? over : null
  })
  return met.includes(null) ? null : met.join(':')
}
