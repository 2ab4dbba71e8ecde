/**
 * Returns the known name that a misspelt one most likely means; null when none is near. Upper and lower
 * case, `-` and `_` count as equal.
 */
export function findNearest(name: string, known: Iterable<string>): string | null {
  const wanted = normalize(name)
  const distanceMax = Math.max(1, Math.floor(wanted.length / 3))
  let nearest: { name: string; distance: number } | null = null
  for (const each of known) {
    const other = normalize(each)
    // At least as many insertions are needed as one of them is longer.
    if (Math.abs(other.length - wanted.length) > distanceMax) continue
    const distance = computeDistance(wanted, other)
    if (distance <= distanceMax && (nearest === null || distance < nearest.distance)) {
      nearest = { name: each, distance }
    }
  }
  return nearest?.name ?? null
}

/** Returns `. Did you mean scout?` for a misspelt name, else an empty text. */
export function formatNearest(name: string, known: Iterable<string>): string {
  const nearest = findNearest(name, known)
  return nearest === null ? '' : `. Did you mean ${nearest}?`
}

/** Returns `Unknown provider "antropic": did you mean anthropic?`, or all known names when none is near. */
export function formatUnknown(what: string, name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  const end = nearest === null ? `. Use one of ${known.join(', ')}` : `: did you mean ${nearest}?`
  return `Unknown ${what} "${name}"${end}`
}

const charsMax = 64

const normalize = (name: string): string =>
  name.slice(0, charsMax).toLowerCase().replaceAll('_', '-')

/** Returns the number of insertions, deletions, replacements and swaps of neighbours between two texts. */
function computeDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + Number(a[i - 1] !== b[j - 1]),
        isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(a.length, b.length)
}
