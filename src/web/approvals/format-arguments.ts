/** Characters that are invisible or change the direction of text. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Formats arguments as indented JSON. Invisible characters and those that change the direction of text are
 * escaped, so that approvers see everything that would run.
 */
export function formatArguments(raw: string): string {
  return indentJson(raw).split('\n').map(escapeInvisible).join('\n')
}

/** Escapes invisible characters in one line, also for the inbox. */
export const escapeInvisible = (line: string): string => line.replace(invisible, toEscapes)

const toEscapes = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')

/** Returns the text unchanged when it is not valid JSON. */
function indentJson(raw: string): string {
  try {
    return JSON.stringify(JSON.parse(raw), null, 2)
  } catch {
    return raw
  }
}
