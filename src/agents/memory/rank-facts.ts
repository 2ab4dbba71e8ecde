import { readTerms, stemsOf } from '../models/offline/words'

/**
 * The facts that share the task's telling words; a word that many facts hold tells little. Facts that
 * share none are left out. The best come last: nearest to the task.
 */
export function rankFacts<Fact extends { text: string }>(
  facts: Fact[],
  words: string,
  factsMax: number,
): Fact[] {
  const terms = new Map(readTerms(words).map(({ stem, weight }) => [stem, weight]))
  const shared = facts.map(({ text }) => [...stemsOf(text)].filter((stem) => terms.has(stem)))
  const holders = new Map<string, number>()
  for (const stem of shared.flat()) holders.set(stem, (holders.get(stem) ?? 0) + 1)
  const weigh = (stem: string) =>
    (terms.get(stem) ?? 0) * Math.log(1 + facts.length / (holders.get(stem) ?? 1))
  return facts
    .map((fact, index) => ({
      fact,
      score: (shared[index] ?? []).reduce((sum, stem) => sum + weigh(stem), 0),
    }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, factsMax)
    .map(({ fact }) => fact)
    .reverse()
}
