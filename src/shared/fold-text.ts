/**
 * Returns a text as two texts are compared that people take for the same: without regard to case, to how letters are
 * composed (NFC) and to runs of white space.
 */
export const foldText = (text: string): string => joinWords(foldCase(text.normalize('NFC')))

/** Whether two texts have the same words in the same order, however they are spaced. */
export const hasSameWords = (one: string, other: string): boolean =>
  joinWords(one) === joinWords(other)

const joinWords = (text: string): string => text.normalize('NFC').replace(/\s+/gu, ' ').trim()

/** The sigma at the end of a word is a sigma. */
const foldCase = (text: string): string => text.toUpperCase().toLowerCase().replaceAll('ς', 'σ')
