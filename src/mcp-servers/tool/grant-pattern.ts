/**
 * Grants are segments between colons: `aws:s3:read:artifacts`. In a pattern `*` stands for one
 * segment, and as the last segment for one or more.
 */

/** Whether `outer` matches everything that `inner` matches; a plain grant matches itself. */
export function coversGrant(outer: string, inner: string): boolean {
  if (hasOtherPrefix(outer, inner)) return false
  const wide = outer.split(':')
  const narrow = inner.split(':')
  const covers = (segment: string, index: number) => segment === '*' || segment === narrow[index]
  if (endsOpen(wide)) return narrow.length >= wide.length && wide.slice(0, -1).every(covers)
  return !endsOpen(narrow) && narrow.length === wide.length && wide.every(covers)
}

/** Returns the pattern of what both patterns match; null when they match nothing in common. */
export function intersectGrants(one: string, other: string): string | null {
  if (hasOtherPrefix(one, other)) return null
  const a = one.split(':')
  const b = other.split(':')
  const isFirstShort = a.length < b.length || (a.length === b.length && endsOpen(a))
  const [short, long] = isFirstShort ? [a, b] : [b, a]
  if (endsOpen(short)) return intersectPrefix(long, short.slice(0, -1))
  return short.length === long.length && !endsOpen(long) ? intersectPrefix(long, short) : null
}

/**
 * Whether the first segments differ. Most lines of a policy are for other servers, so this check saves
 * splitting them.
 */
function hasOtherPrefix(one: string, other: string): boolean {
  for (let at = 0; one[at] !== '*' && other[at] !== '*'; at++) {
    if (one[at] !== other[at]) return true
    if (one[at] === ':' || at === one.length) return false
  }
  return false
}

/**
 * Returns the part of a tool's grant shape that a pattern matches, with as many segments as the shape;
 * null when it matches nothing.
 */
export function intersectShape(shape: string, pattern: string): string | null {
  const met = intersectGrants(shape, pattern)
  return met?.split(':').length === shape.split(':').length ? met : null
}

/** Whether a grant names one resource: it has no wildcard and no empty segment. */
export const isPlainGrant = (grant: string): boolean =>
  grant.split(':').every((segment) => segment !== '' && !segment.includes('*'))

/** Whether the last segment of a pattern names a resource, so is not `*`. */
export const namesResource = (pattern: string): boolean => !endsOpen(pattern.split(':'))

const endsOpen = (segments: string[]): boolean => segments.at(-1) === '*'

/** Returns `base` restricted to first segments that match `prefix`; null when they match nothing. */
function intersectPrefix(base: string[], prefix: string[]): string | null {
  const met = base.map((segment, index) => {
    const over = prefix[index]
    if (over === undefined || over === '*' || over === segment) return segment
    return segment === '*' ? over : null
  })
  return met.includes(null) ? null : met.join(':')
}
