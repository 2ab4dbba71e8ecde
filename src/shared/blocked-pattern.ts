import { matchesGlob } from './glob'

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
