/** What the eye does not see, or sees in another order than it runs. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Arguments as the tool gets them, one a line. Characters that are invisible or turn the direction of
 * the text are written out, so that nothing runs which was not shown.
 */
export function prettyArguments(raw: string): string {
  return pretty(raw).split('\n').map(showUnseen).join('\n')
}

/** One line of it; also what the inbox shows of a call. */
export const showUnseen = (line: string): string => line.replace(unseen, writeOut)

const writeOut = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')

function pretty(raw: string): string {
  try {
    return JSON.stringify(JSON.parse(raw), null, 2)
  } catch {
    return raw
  }
}
