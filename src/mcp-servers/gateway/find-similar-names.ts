/** Returns at most three names similar to an unknown one, best match first. */
export function findSimilarNames(wrong: string, names: string[]): string[] {
  const asked = wrong.slice(0, 64).toLowerCase()
  return names
    .map((name) => ({ name, distance: editDistance(asked, name) }))
    .filter(({ name, distance }) => distance <= name.length / 2 || isPartOf(asked, name))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

const isPartOf = (asked: string, name: string): boolean => asked.length > 2 && name.includes(asked)

/** Returns the Levenshtein distance, computed by rows (Wagner and Fischer, 1974). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, char] of [...a].entries()) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const replace = (row[j] ?? 0) + (b[j] === char ? 0 : 1)
      next.push(Math.min(replace, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
