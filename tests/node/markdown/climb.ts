import { explainSlowness, measureMs, type Shape } from './measure'

/** Pieces of which slow texts are made. */
const pieces = [
  '*',
  '**',
  '_',
  '__',
  '~',
  '~~',
  '`',
  '``',
  '```',
  '[',
  ']',
  '](',
  '](<',
  '][',
  '![',
  '[^a]',
  '[^a]:',
  '[a]: b\n',
  '(',
  ')',
  '<',
  '>',
  '<!--',
  '<a ',
  '"',
  "'",
  '&',
  '&a;',
  '&#64;',
  '\\',
  '\\\n',
  '|',
  '|-',
  '|-|\n',
  '> ',
  '- ',
  '* ',
  '1. ',
  '- [ ] ',
  '# ',
  '---\n',
  '===\n',
  '    ',
  '\t',
  '  ',
  ' ',
  '\n',
  '\n\n',
  '\r\n',
  'a',
  'word ',
  '@',
  '@ab',
  '@a_b',
  'me@',
  'x.y',
  'www.',
  'http://',
  'http://a.b',
  ':',
  '/',
  '.',
  '-',
  '--',
  ';',
  '请',
  '\u0301',
  '😀',
  '\0',
  '{',
  '}',
  '=',
  '+',
  '!',
  '$',
  '%',
  '^',
]

/** A part of a text, which fills its share of the text. */
interface Gene {
  part: string
  /** 0 for once. */
  share: number
}

type Genome = Gene[]

const toShape =
  (genome: Genome): Shape =>
  (chars) => {
    const total = genome.reduce((sum, { share }) => sum + share, 0) || 1
    return genome
      .map(({ part, share }) => {
        const length = Math.floor((chars * share) / total)
        return share === 0 ? part : part.repeat(Math.ceil(length / part.length)).slice(0, length)
      })
      .join('')
  }

/** Returns numbers from 0 to 1 that a seed determines (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const genesMax = 6
const poolMax = 24
/** So many of a pool are the best, whose ratio is measured. */
const bestMax = 3

type Pool = { fitness: number; genome: Genome }[]

/** Makes new texts of those in a pool. */
function createMutation(random: () => number): (pool: Pool) => Genome {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const makePart = () =>
    Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(pieces)).join('')
  const makeShare = () => 1 + Math.floor(random() * 4)
  const makeGene = (): Gene => ({ part: makePart(), share: random() < 0.25 ? 0 : makeShare() })
  const changeEach =
    (change: (gene: Gene) => Partial<Gene>) =>
    (genome: Genome): Genome =>
      genome.map((gene) => (random() < 0.5 ? gene : { ...gene, ...change(gene) }))
  const changes: ((genome: Genome, other: Genome) => Genome)[] = [
    (genome) => [...genome, makeGene()],
    (genome) => [makeGene(), ...genome],
    (genome) => genome.filter(() => random() < 0.7),
    (genome, other) => [...genome, ...other],
    changeEach(() => ({ part: makePart() })),
    changeEach(({ part }) => ({ part: part + pick(pieces) })),
    changeEach(({ part }) => ({ part: pick(pieces) + part })),
    changeEach(({ share }) => ({ share: share === 0 ? 0 : makeShare() })),
    changeEach(({ part, share }) => (share === 0 ? { part: part.repeat(20).slice(0, 200) } : {})),
  ]
  return (pool) => {
    const parent = pool.length > 0 && random() < 0.85 ? pick(pool).genome : [makeGene()]
    const other = pool.length > 0 ? pick(pool).genome : [makeGene()]
    const genome = pick(changes)(parent, other).slice(0, genesMax)
    return genome.some(({ share }) => share > 0) ? genome : [...genome, { part: 'a', share: 1 }]
  }
}

/** Adds a text to a pool, unless the pool is full of better ones; returns whether it is among the best. */
function keep(pool: Pool, fitness: number, genome: Genome): boolean {
  pool.push({ fitness, genome })
  pool.sort((a, b) => b.fitness - a.fitness)
  pool.length = Math.min(pool.length, poolMax)
  return pool.slice(0, bestMax).some((each) => each.genome === genome)
}

interface Climb {
  render(text: string): void
  /** Deterministic measure of a text, such as its units of work. */
  count(text: string): number
  /** How many texts to try. */
  texts: number
  seed: number
}

/** The text with the greatest excess, and those that are slow. */
interface Found {
  greatest: { excess: number; genome: Genome }
  slow: { reason: string; genome: Genome }[]
}

const charsTried = { few: 2_000, many: 8_000 }
const slowMax = 3

/** An excess that is worth the measurement of longer texts, in milliseconds. */
const excessMs = 4

/** Returns the time that a text takes beyond what is in proportion to a quarter of it, in milliseconds. */
const measureExcess = (render: Climb['render'], shape: Shape): number =>
  measureMs(render, shape(charsTried.many), 2) - 4 * measureMs(render, shape(charsTried.few), 2)

/**
 * Climbs towards slow texts: first each piece repeated, then changes and joins of those whose time grows most, which sees
 * what is not counted, or which take the most counted work, which a busy machine does not change. The ratio of each new
 * best one is measured with longer texts.
 */
export function climb({ render, count, texts, seed }: Climb): Found {
  const mutate = createMutation(createRandom(seed))
  const [byTime, byWork]: [Pool, Pool] = [[], []]
  const found: Found = { greatest: { excess: 0, genome: [] }, slow: [] }
  const singles = pieces.map((part): Genome => [{ part, share: 1 }])
  // The first texts take longer, because the code is not compiled yet.
  for (const genome of singles) render(toShape(genome)(charsTried.many))
  for (let tried = 0; tried < texts && found.slow.length < slowMax; tried++) {
    const genome = singles[tried] ?? mutate(tried % 2 === 0 ? byTime : byWork)
    const shape = toShape(genome)
    const excess = measureExcess(render, shape)
    if (excess > found.greatest.excess) found.greatest = { excess, genome }
    const isBest = keep(byTime, excess, genome) && excess > excessMs
    const isMost = keep(byWork, count(shape(charsTried.many)), genome)
    const reason = isBest || isMost ? explainSlowness(render, shape) : null
    if (reason !== null) found.slow.push({ reason, genome })
  }
  return found
}
