import type { Env } from 'markdown-it'

/** Thrown when a text costs more than its length allows; `renderMarkdown` then shows it as plain text. */
export class TooComplexError extends Error {}

/**
 * Units of work that each character of a text may cost, and what any text may. Ordinary texts take 1 to 3 units per
 * character. The most expensive posts took 0.2 s of CPU time on a busy machine of two cores.
 */
const unitsPerChar = 40
const unitsMin = 20_000

/** The work that one text may still cost. */
export class Work {
  spent = 0
  readonly #max: number

  constructor(chars: number) {
    this.#max = unitsMin + chars * unitsPerChar
  }

  /** @throws TooComplexError when nothing is left */
  spend(units: number): void {
    this.spent += units
    if (this.spent > this.#max) throw new TooComplexError()
  }
}

/** Returns the work of the text that a state of the parser belongs to. */
export const workOf = (state: { env: Env }): Work => state.env.work as Work
