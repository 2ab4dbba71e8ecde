import { TooComplexError, Work } from '../../../src/shared/markdown/count-work'
import { getGfm } from '../../../src/shared/markdown/render-markdown'

const id = '00000000-0000-0000-0000-000000000000'

/** Returns the units of work that a text costs, or costs until it is found too complex. */
export function countWork(text: string): number {
  const work = new Work(text.length)
  try {
    getGfm().render(text, {
      heading: 3,
      id,
      isPlain: false,
      work,
      names: new Set<string>(),
      spans: 0,
    })
  } catch (error) {
    if (!(error instanceof TooComplexError)) throw error
  }
  return work.spent
}

/** Makes a text of a number of characters. */
export type Shape = (chars: number) => string

/** The longest post, and a quarter of it. */
const chars = { few: 10_000, many: 40_000 }

/**
 * Times that the CPU time for four times the text may be the time for the text: 3.2 for each doubling, where linear work
 * takes 2, collections of garbage included up to 2.7, and quadratic work 4.
 */
const ratioMax = 10

/** A post that takes less holds nothing up, whatever its ratio, in milliseconds. */
const neverSlowMs = 300

/**
 * Returns why texts of a shape are slow; null when they are not. A busy machine makes no shape slow: an excess is
 * measured again with ever more repeats, of which the least CPU time counts.
 */
export function explainSlowness(render: (text: string) => void, shape: Shape): string | null {
  const [few, many] = [shape(chars.few), shape(chars.many)]
  let reason = ''
  for (const repeats of [1, 2, 4, 8]) {
    const ms = measureMs(render, many, repeats)
    if (ms < neverSlowMs) return null
    const ratio = ms / measureMs(render, few, 2 * repeats)
    if (ratio < ratioMax) return null
    reason = `${ms.toFixed(0)} ms for ${chars.many} characters, ${ratio.toFixed(1)} times as much as for ${chars.few}`
  }
  return reason
}

/** Returns the CPU time of this process for rendering a text, the least of some repeats, in milliseconds. */
export function measureMs(render: (text: string) => void, text: string, repeats: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let n = 0; n < repeats; n++) {
    const before = process.cpuUsage()
    render(text)
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}
