import { expect, test } from 'vitest'
import { renderMarkdown } from '../../../src/shared/markdown/render-markdown'
import { climb } from './climb'
import { countWork, explainSlowness } from './measure'
import { shapes } from './shapes'

const render = (text: string) => void renderMarkdown(text)

/** Units that a text may cost, and one last count: see `work.ts`. */
const unitsMax = (chars: number) => 41 * chars + 40_000

test.each(Object.entries(shapes))(
  'markdown: %s cost work in proportion to the text',
  (_, shape) => {
    for (const chars of [10_000, 20_000, 40_000]) {
      const text = shape(chars)
      const units = countWork(text)
      expect(units).toBeLessThan(unitsMax(text.length))
      expect(countWork(shape(2 * chars))).toBeLessThan(2.5 * units + 40_000)
    }
  },
)

test.each(Object.entries(shapes))(
  'markdown: %s take time in proportion to the text',
  (_, shape) => {
    expect(explainSlowness(render, shape)).toBeNull()
  },
)

/** `ROOKERY_FUZZ_SECONDS=600` searches longer, `ROOKERY_FUZZ_SEED=7` elsewhere. */
const seconds = Number(process.env.ROOKERY_FUZZ_SECONDS ?? 40)
const seed = Number(process.env.ROOKERY_FUZZ_SEED ?? 1)

test(
  'markdown: a search that climbs towards slow texts finds none',
  () => {
    const { slow, tried, greatest } = climb({ render, count: countWork, seconds, seed })
    const { excess, genome } = greatest
    console.log(
      `${tried} texts tried; greatest excess ${excess.toFixed(0)} ms: ${JSON.stringify(genome)}`,
    )
    expect(slow).toEqual([])
  },
  1000 * (10 * seconds + 60),
)
