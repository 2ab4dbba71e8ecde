import { streamLimits } from '../../config'

export type DeltaKind = 'text' | 'reasoning'

/** What a watcher's copy needs to become the newest: keep `from` characters, add `text`. */
export interface TextChange {
  from: number
  text: string
}

/** A run of characters that a credential may begin with and that may still grow. */
const openRun = /[A-Za-z0-9_-]{1,128}$/

/**
 * Text that grows while people watch. Credentials are left out of what is shown, also while they are
 * not complete: the last word waits until the next character tells that it has ended.
 */
export class LiveText {
  #raw = ''
  /** What watchers have. */
  shown = ''
  readonly #mask: (text: string) => string

  constructor(mask: (text: string) => string) {
    this.#mask = mask
  }

  add(text: string): void {
    const room = streamLimits.textCharsMax - this.#raw.length
    if (room > 0) this.#raw += text.slice(0, room)
  }

  /** What is new for watchers; null when nothing is. At the end of the text no word waits. */
  take(isEnd: boolean): TextChange | null {
    const masked = this.#mask(this.#raw)
    const isFull = this.#raw.length >= streamLimits.textCharsMax
    const next = isEnd && !isFull ? masked : masked.replace(openRun, '')
    if (next === this.shown) return null
    const from = countCommon(this.shown, next)
    this.shown = next
    return { from, text: next.slice(from) }
  }
}

/** Nearly always a text only grows; what was masked late makes it differ from some place on. */
function countCommon(before: string, after: string): number {
  if (after.startsWith(before)) return before.length
  let count = 0
  while (count < before.length && before[count] === after[count]) count++
  return count
}
