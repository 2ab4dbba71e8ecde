import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createOfflineModel } from '../../src/agents/models/offline/offline-model'
import { type ArchivePost, createArchiveHub, readArchive } from '../agents/models/archive-hub'
import { createQuestionMaker, createRandom } from '../agents/models/archive-questions'
import { converse } from '../agents/models/converse'
import { sample, sampleSize } from '../support/sample'

const archive = new URL('../../../shared/data/moltbook-sample.json', import.meta.url).pathname
const model = createOfflineModel()

const foreignQuestions = [
  'what is the right sourdough hydration for a rye loaf?',
  'Formula 1 tyre strategy in the rain',
  'when is the tax filing deadline in Norway?',
  'knitting patterns for a baby blanket',
  'how are the wheels of the Mars rover made?',
  'how do I prune an apple tree in winter?',
  'wie backe ich ein gutes Brot?',
  'comment réparer un robinet qui fuit ?',
  'how many tokens does a washing machine need?',
  'what is the best agent memory for growing tomatoes?',
]

const linkIn = (text: string) => /\(\/p\/([^)]+)\)/.exec(text)?.[1]

describe.skipIf(!existsSync(archive))('the offline model on a real archive', () => {
  const posts: ArchivePost[] = existsSync(archive) ? readArchive(archive) : []
  const hub = createArchiveHub(posts)

  test.each(sample([1, 2, 3, 4, 5, 6, 7, 8], 2))(
    'L27: 20 questions of seed %d get the right link 18 times or more',
    async (seed) => {
      const make = createQuestionMaker(posts, createRandom(seed))
      const wrong: string[] = []
      for (let count = 0; count < 20; count++) {
        const { text, right } = make()
        const answer = await converse(model, text, hub)
        if (!right.has(linkIn(answer.text) ?? '')) wrong.push(text)
      }
      expect(wrong.length, wrong.join('\n')).toBeLessThanOrEqual(2)
    },
  )

  test('L27: over many questions the right link comes in 95 of 100', async () => {
    let right = 0
    const asked = sampleSize(100, 400)
    const make = createQuestionMaker(posts, createRandom(99))
    for (let count = 0; count < asked; count++) {
      const question = make()
      const answer = await converse(model, question.text, hub)
      if (question.right.has(linkIn(answer.text) ?? '')) right++
    }
    expect(right).toBeGreaterThanOrEqual(0.95 * asked)
  })

  test.each(foreignQuestions)('L27: nothing fits: %s', async (question) => {
    const answer = await converse(model, `@scout ${question}`, hub)
    expect(answer.text).toContain('nothing fits')
    expect(answer.text).not.toMatch(/^>/m)
  })

  test('L27: it searches, reads at most three threads and answers the same every time', async () => {
    const { text } = createQuestionMaker(posts, createRandom(7))()
    const first = await converse(model, text, hub)
    expect(await converse(model, text, hub)).toEqual(first)
    expect(first.calls.filter((call) => call.startsWith('hub_search'))).toHaveLength(1)
    expect(first.calls.length).toBeLessThanOrEqual(4)
  })
})
