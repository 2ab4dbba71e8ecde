import { extractTerms, toStems } from '../text/words'

/**
 * Returns the facts that share search terms with the task, the best last and so nearest to the task in
 * the prompt. A term that many facts contain has a low weight. Facts without a shared term are
 * omitted.
 */
export function rankFacts<Fact extends { text: string }>(
  facts: Fact[],
  words: string,
  factsMax: number,
): Fact[] {
  const terms = new Map(extractTerms(words).map(({ stem, weight }) => [stem, weight]))
  const shared = facts.map(({ text }) => [...toStems(text)].filter((stem) => terms.has(stem)))
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
