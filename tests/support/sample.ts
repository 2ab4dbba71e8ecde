/** Whether slow tests try all of their cases: `npm run test:all`. */
const triesAll = process.env.ROOKERY_TEST_ALL === '1'

/** Differs from commit to commit, so that samples of many commits are all cases; `ROOKERY_TEST_SAMPLE=7` tries another one. */
const seed = Number.parseInt(process.env.ROOKERY_TEST_SAMPLE ?? '0', 16)

/**
 * Returns some of a test's cases, spread over the list; all of them in `npm run test:all`.
 *
 * @param shift takes others of the same commit
 */
export function sample<Case>(cases: readonly Case[], count: number, shift = 0): Case[] {
  if (triesAll || count >= cases.length) return [...cases]
  const toIndex = (at: number) => Math.floor((at * cases.length) / count) + seed + shift
  return Array.from({ length: count }, (_, at) => cases[toIndex(at) % cases.length] as Case)
}

/** Returns the size of a search, a simulation or the values of a property: `all` in `npm run test:all`, else `some`. */
export const sampleSize = (some: number, all: number): number => (triesAll ? all : some)
