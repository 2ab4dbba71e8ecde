/** Whether a pattern matches a whole text; `*` matches any characters, also none. Takes linear time. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.pop()
  if (last === undefined) return first === text
  const end = text.length - last.length
  let at = first.length
  if (at > end || !text.startsWith(first) || !text.endsWith(last)) return false
  // The earliest place of a part leaves the most for the next one.
  for (const part of parts) {
    const [place] = findPlaces(part, text, at)
    if (place === undefined) return false
    at = place + part.length
  }
  return at <= end
}

/**
 * Yields where a part stands in a text, from a position on. Takes linear time (Knuth, Morris and Pratt,
 * 1977); `indexOf` takes the product of both lengths for parts that repeat themselves.
 */
export function* findPlaces(part: string, text: string, from = 0): Generator<number> {
  const borders = findBorders(part)
  let length = 0
  if (part === '') yield from
  for (let at = from; at < text.length && part !== ''; at++) {
    length = extend(part, borders, length, text.charCodeAt(at))
    if (length < part.length) continue
    yield at + 1 - length
    length = borders[length - 1] ?? 0
  }
}

/** For each beginning of a part, the length of the longest shorter beginning that it also ends with. */
function findBorders(part: string): number[] {
  const borders = [0]
  for (let at = 1; at < part.length; at++) {
    borders.push(extend(part, borders, borders[at - 1] ?? 0, part.charCodeAt(at)))
  }
  return borders
}

/** Returns how much of the part's beginning a text ends with, after one more character. */
function extend(part: string, borders: number[], before: number, code: number): number {
  let length = before
  while (length > 0 && part.charCodeAt(length) !== code) length = borders[length - 1] ?? 0
  return part.charCodeAt(length) === code ? length + 1 : 0
}

/**
 * What a regular expression would write, and a blocked pattern must not: read as text, it would match far less
 * than its author meant.
 */
const expressionMark = /[\\|^$+?()[\]{}]|\.\*/

/** Returns the first part of a pattern that only a regular expression needs; null: the pattern is a text. */
export const findExpressionMark = (pattern: string): string | null =>
  expressionMark.exec(pattern)?.[0] ?? null

/**
 * Returns the first pattern that stands anywhere in the arguments of a call: in one of their texts, or in their
 * JSON. `*` matches any characters; case and the amount of white space do not matter.
 */
export function findBlocked(patterns: readonly string[], args: unknown): string | undefined {
  if (patterns.length === 0) return undefined
  const texts: string[] = []
  const json = JSON.stringify(args, (_key, value) => {
    if (typeof value === 'string') texts.push(value)
    return value
  })
  // No pattern contains the separator, so that none matches across two texts unless by its `*`, as in the JSON.
  const searched = [texts.join('\0'), json].map(fold)
  return patterns.find((pattern) =>
    searched.some((text) => matchesGlob(`*${fold(pattern)}*`, text)),
  )
}

const fold = (text: string): string => text.toLowerCase().replace(/\s+/g, ' ')
