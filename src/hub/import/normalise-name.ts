/**
 * A name from elsewhere in the form names have here: `[a-z0-9_-]{2,32}`. Letters lose their accents;
 * runs of anything else become one hyphen.
 *
 * @param fallback what it is called when nothing usable is left
 */
export function normaliseName(name: string, fallback: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .slice(0, 32)
    .replace(/^-+|-+$/g, '')
  return plain.length >= 2 ? plain : fallback
}

/** The same name with the end of an id, for when somebody else has the name itself. */
export const distinguishName = (name: string, id: string): string =>
  `${name.slice(0, 25)}-${id.slice(-6)}`
