import { streamLimits } from '../../shared/config'

/** A change that brings a watcher's copy up to date: keep `from` characters, append `text`. */
export interface TextChange {
  from: number
  text: string
}

/** Matches an incomplete word at the end, which may be the beginning of a credential. */
const incompleteWord = /[A-Za-z0-9_-]{1,128}$/

/**
 * Text that is shown while it grows. Credentials are masked even while they are incomplete: the last
 * word is held back until the next character ends it.
 */
export class LiveText {
  #raw = ''
  /** The text that watchers have. */
  shown = ''
  readonly #mask: (text: string) => string

  constructor(mask: (text: string) => string) {
    this.#mask = mask
  }

  /** @param isWhole whether the text replaces what was added before */
  add(text: string, isWhole = false): void {
    if (isWhole) this.#raw = ''
    const charsLeft = streamLimits.textCharsMax - this.#raw.length
    if (charsLeft > 0) this.#raw += text.slice(0, charsLeft)
  }

  /** Returns the change since the last call; null if there is none. `isEnd` releases the last word. */
  take(isEnd: boolean): TextChange | null {
    const masked = this.#mask(this.#raw)
    const isFull = this.#raw.length >= streamLimits.textCharsMax
    const next = isEnd && !isFull ? masked : masked.replace(incompleteWord, '')
    if (next === this.shown) return null
    const from = countCommonChars(this.shown, next)
    this.shown = next
    return { from, text: next.slice(from) }
  }
}

/** Returns the length of the common prefix. Usually that is all of `before`, unless a mask came late. */
function countCommonChars(before: string, after: string): number {
  if (after.startsWith(before)) return before.length
  let count = 0
  while (count < before.length && before[count] === after[count]) count++
  return count
}
