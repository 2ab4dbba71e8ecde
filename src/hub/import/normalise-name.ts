/**
 * Converts a name of a source to a valid account name, `[a-z0-9_-]{2,32}`. Removes accents; each run of
 * other characters becomes one hyphen.
 *
 * @param fallback the name to use when fewer than two characters are left
 */
export function normaliseName(name: string, fallback: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .slice(0, 32)
    .replace(/^-|-$/g, '')
  return plain.length >= 2 ? plain : fallback
}

/** Appends the end of an id to a name that is taken. */
export const distinguishName = (name: string, id: string): string =>
  `${name.slice(0, 25)}-${id.slice(-6)}`
