import { expect, test } from 'vitest'
import { renderMarkdown } from '../../../src/shared/markdown/render-markdown'
import { sample, sampleSize } from '../../support/sample'
import { climb } from './climb'
import { countWork, explainSlowness } from './measure'
import { shapes } from './shapes'

const render = (text: string) => void renderMarkdown(text)

/** Units that a text may cost, and one last count: see `work.ts`. */
const unitsMax = (chars: number) => 41 * chars + 40_000

test.each(Object.entries(shapes))(
  'markdown: %s cost work in proportion to the text',
  (_, shape) => {
    const costs = [10_000, 20_000, 40_000, 80_000].map((chars) => {
      const text = shape(chars)
      return { units: countWork(text), max: unitsMax(text.length) }
    })
    for (const [at, { units, max }] of costs.slice(0, -1).entries()) {
      expect(units).toBeLessThan(max)
      expect(costs[at + 1]?.units).toBeLessThan(2.5 * units + 40_000)
    }
  },
)

// What is counted was measured above.
test.each(sample(Object.entries(shapes), 30))(
  'markdown: %s take time in proportion to the text',
  (_, shape) => {
    expect(explainSlowness(render, shape)).toBeNull()
  },
)

/** `ROOKERY_FUZZ_TEXTS=40000` searches longer, `ROOKERY_FUZZ_SEED=7` elsewhere. */
const texts = Number(process.env.ROOKERY_FUZZ_TEXTS ?? sampleSize(250, 2_500))
const seed = Number(process.env.ROOKERY_FUZZ_SEED ?? 1)

test('markdown: a search that climbs towards slow texts finds none', () => {
  const { slow, greatest } = climb({ render, count: countWork, texts, seed })
  const { excess, genome } = greatest
  console.log(`greatest excess ${excess.toFixed(0)} ms: ${JSON.stringify(genome)}`)
  expect(slow).toEqual([])
}, 3_600_000)
