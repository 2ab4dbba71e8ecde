/**
 * Converts a name of a source to letters, digits, `_` and single hyphens, at most 32, that begin with a letter or digit.
 * Removes accents; each run of other characters becomes one hyphen. Returns null when fewer than two characters are left.
 */
export function normaliseName(name: string): string | null {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^[-_]+/, '')
    .slice(0, 32)
    .replace(/-+$/, '')
  return plain.length >= 2 ? plain : null
}

/** Appends the end of an id to a name. */
export const distinguishName = (name: string, id: string): string =>
  `${name.slice(0, 25).replace(/-+$/, '')}-${id.slice(-6)}`
