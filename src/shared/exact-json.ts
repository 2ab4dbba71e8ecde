/**
 * Parses JSON as `JSON.parse` does, except that a whole number that a JavaScript number cannot hold becomes the text of
 * its digits: two ids that differ in the last digit stay two ids.
 *
 * @throws SyntaxError for text that is not JSON
 */
export const parseExactJson = (text: string): unknown =>
  // Calling back for each value takes five times as long, and few texts have such a number.
  /\d{16}/.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)

/** @param context the text that the value was read from */
const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && isWhole(context?.source ?? '')
    ? context?.source
    : value

const isWhole = (source: string): boolean => /^-?\d+$/.test(source)
