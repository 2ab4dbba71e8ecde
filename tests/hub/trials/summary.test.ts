import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CheckResult, Verdict } from '../../../src/hub/contract/hub'
import {
  type CaseCounts,
  type CountedCase,
  type CountedLane,
  computeInterval,
  findClaim,
  summarizeTrial,
} from '../../../src/hub/trials/summary'
import {
  type ComparedSide,
  compareByChecks,
  compareWithoutJudge,
  decideCase,
} from '../../../src/hub/trials/verdicts'
import { sampleSize } from '../../support/sample'

const none: CaseCounts = {
  better: 0,
  worse: 0,
  same: 0,
  cannotTell: 0,
  waiting: 0,
  open: 0,
  skipped: 0,
  noise: 0,
}
const claimOf = (counts: Partial<CaseCounts>): Verdict => findClaim({ ...none, ...counts }).claim

const swapped: Record<Verdict, Verdict> = {
  better: 'worse',
  worse: 'better',
  same: 'same',
  cannot_tell: 'cannot_tell',
}

const result = (passed: boolean): CheckResult => ({ passed, detail: '' })
const side = (answer: string, passed: boolean[] = [], incomplete: string | null = null) =>
  ({ answer, results: passed.map(result), incomplete, hasFailed: false }) satisfies ComparedSide

describe('the verdict of a sample', () => {
  test('P6: who alone passes all checks is better; otherwise equal words are the same', () => {
    const of = (one: ComparedSide, other: ComparedSide) => compareByChecks(one, other).verdict
    expect(of(side('a', [true, false]), side('b', [true, true]))).toBe('better')
    expect(of(side('a', [true, true]), side('b', [false, true]))).toBe('worse')
    expect(of(side('a', [true]), side('a ', [true]))).toBe('same')
    expect(of(side('a', [false, true]), side('a', [true, false]))).toBe('same')
    expect(of(side('We\n\nwait. '), side(' We wait.'))).toBe('same')
    expect(of(side('Caf\u00e9'), side('Cafe\u0301'))).toBe('same')
    expect(of(side('We wait.'), side('we wait.'))).toBeNull()
    expect(of(side('wait we'), side('we wait'))).toBeNull()
    expect(of(side('a', [true]), side('b', [true]))).toBeNull()
    expect(of(side('a'), side('a'))).toBe('same')
    expect(of(side('a'), side('b'))).toBeNull()
  })

  test('P6: what is incomplete on one side decides nothing', () => {
    const one = compareByChecks(side('a', [true]), side('b', [false], 'It was cancelled.'))
    expect(one).toEqual({
      verdict: 'cannot_tell',
      reason: 'The draft could not run whole. It was cancelled.',
    })
    expect(compareByChecks(side('a', [], 'No.'), side('a')).verdict).toBe('cannot_tell')
  })

  test('P6: without a judge the checks say the same where people would have to compare', () => {
    expect(compareWithoutJudge(side('a', [true]), side('b', [true])).verdict).toBe('same')
    expect(compareWithoutJudge(side('a', [false]), side('b', [false])).verdict).toBe('same')
    expect(
      compareWithoutJudge(side('a', [false, true]), side('b', [true, false])).verdict,
    ).toBeNull()
    expect(compareWithoutJudge(side('a'), side('b')).verdict).toBeNull()
  })

  test('P9: a case goes by most of its samples', () => {
    const of = (...verdicts: (Verdict | null)[]) =>
      decideCase(verdicts.map((verdict) => ({ verdict, reason: null })))
    expect(of('better', 'worse', 'better')).toBe('better')
    expect(of('worse', 'same')).toBe('worse')
    expect(of('same', 'same')).toBe('same')
    expect(of('better', 'worse')).toBe('cannot_tell')
    expect(of('same', 'cannot_tell')).toBe('cannot_tell')
    expect(of('better', null)).toBeNull()
    expect(of()).toBeNull()
  })
})

describe('the sum of a trial', () => {
  test('P6: the interval is the Wilson interval', () => {
    const published: [number, number, number, number][] = [
      // Newcombe 1998, table I, method 3
      [81, 263, 0.2553, 0.3662],
      [15, 148, 0.0624, 0.1605],
      [0, 20, 0, 0.1611],
      [1, 29, 0.0061, 0.1718],
    ]
    for (const [successes, of, low, high] of published) {
      const found = computeInterval(successes, of)
      expect(found?.low).toBeCloseTo(low, 4)
      expect(found?.high).toBeCloseTo(high, 4)
    }
    expect(computeInterval(0, 0)).toBeNull()
    expect(computeInterval(7, 7)?.high).toBe(1)
  })

  test('P6: better is said beyond chance and beyond the noise, and not before', () => {
    expect(claimOf({ better: 6 })).toBe('better')
    expect(claimOf({ better: 5 })).toBe('cannot_tell')
    expect(claimOf({ better: 6, noise: 6 })).toBe('same')
    expect(claimOf({ better: 6, noise: 5 })).toBe('better')
    expect(claimOf({ better: 9, worse: 1, noise: 8 })).toBe('cannot_tell')
    expect(claimOf({ better: 5, worse: 4 })).toBe('cannot_tell')
    expect(claimOf({ worse: 8, better: 1 })).toBe('worse')
    // while cases run, nothing is said; those that wait count for the other side
    expect(claimOf({ better: 20, open: 1 })).toBe('cannot_tell')
    expect(claimOf({ better: 20, waiting: 4 })).toBe('better')
    expect(claimOf({ better: 6, waiting: 4 })).toBe('cannot_tell')
  })

  test('P6: the same is said of what could mostly be compared, and differs no more than by the noise', () => {
    expect(claimOf({ same: 3 })).toBe('same')
    expect(claimOf({ same: 3, cannotTell: 3 })).toBe('cannot_tell')
    expect(claimOf({ same: 8, better: 1, worse: 1, noise: 2 })).toBe('same')
    expect(claimOf({ same: 8, better: 1, worse: 1, noise: 1 })).toBe('cannot_tell')
    expect(claimOf({ same: 8, waiting: 1 })).toBe('cannot_tell')
    expect(claimOf({})).toBe('cannot_tell')
    expect(claimOf({ skipped: 4 })).toBe('cannot_tell')
  })

  const counts = fc.record({
    better: fc.nat(40),
    worse: fc.nat(40),
    same: fc.nat(40),
    cannotTell: fc.nat(20),
    waiting: fc.nat(20),
    noise: fc.nat(20),
  })

  test('P6: whoever exchanges the definitions gets the opposite', () => {
    fc.assert(
      fc.property(counts, (of) => {
        const other = { ...of, better: of.worse, worse: of.better }
        expect(claimOf(other)).toBe(swapped[claimOf(of)])
        const [one, two] = [of, other].map(({ better, worse }) =>
          computeInterval(better, better + worse),
        )
        expect(one?.low ?? 0).toBeCloseTo(1 - (two?.high ?? 1), 9)
        expect(findClaim({ ...none, ...of }).reason).not.toBe('')
      }),
      { numRuns: sampleSize(300, 3_000) },
    )
  })

  test('P6: more evidence never turns better into worse', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 2, max: 5 }), fc.nat(20), (of, times, more) => {
        const before = claimOf(of)
        if (before !== 'better' && before !== 'worse') return
        // the same again, more of what was found, and people who decide what waits, whatever they say
        const again = Object.fromEntries(Object.entries(of).map(([key, n]) => [key, n * times]))
        expect(claimOf(again)).toBe(before)
        expect(claimOf({ ...of, [before]: of[before] + more })).toBe(before)
        for (let better = 0; better <= of.waiting; better++) {
          const decided = { better: of.better + better, worse: of.worse + of.waiting - better }
          expect(claimOf({ ...of, ...decided, waiting: 0 })).toBe(before)
        }
      }),
      { numRuns: sampleSize(500, 5_000) },
    )
  })

  test('P9: counts passes, cost, times, errors and agreement', () => {
    const of = (fields: Partial<CountedCase>): CountedCase => ({
      state: 'done',
      verdicts: { checks: null, judge: null, people: null },
      noise: null,
      toolErrors: { baseline: 1, candidate: 0 },
      passed: { baseline: [true, false], candidate: [true, true] },
      ...fields,
    })
    const judged = (people: Verdict) =>
      of({ verdicts: { checks: null, judge: 'better', people }, noise: 'worse', passed: null })
    const lane = (name: CountedLane['lane'], cost: number, durationMs: number): CountedLane => ({
      lane: name,
      isDone: true,
      isReused: false,
      costMicrousd: cost,
      durationMs,
    })
    const cases = [
      of({ verdicts: { checks: 'same', judge: null, people: 'worse' } }),
      of({ state: 'skipped', passed: null, toolErrors: null }),
      of({}),
      of({ state: 'running', passed: null, toolErrors: null }),
      ...Array.from({ length: 9 }, () => judged('better')),
      judged('worse'),
    ]
    const lanes = [
      ...Array.from({ length: 20 }, (_, at) => lane('baseline', 10, at + 1)),
      ...Array.from({ length: 20 }, (_, at) => lane('candidate', 15, 100 - at)),
      lane('judge', 7, 1_000),
      { ...lane('candidate', 3, 9_999), isDone: false },
      // paid for by an earlier replay
      ...Array.from({ length: 4 }, () => ({ ...lane('baseline', 10, 10), isReused: true })),
    ]
    const found = summarizeTrial(cases, lanes, { runsMonth: 100, isPriced: true })
    expect(found).toMatchObject({
      better: 9,
      worse: 2,
      same: 0,
      waiting: 1,
      open: 1,
      skipped: 1,
      noise: 10,
      passed: {
        baseline: { samples: 2, of: 4, allSamples: 0, cases: 2 },
        candidate: { samples: 4, of: 4, allSamples: 2, cases: 2 },
      },
      costMicrousd: 200 + 300 + 7 + 3,
      reused: 4,
      costMonthMicrousd: { baseline: 1_000, candidate: 1_500 },
      durationMs: { baseline: { p50: 10, p95: 19 }, candidate: { p50: 90, p95: 99 } },
      toolErrors: { baseline: 12, candidate: 0 },
      agreement: { same: 9, of: 10 },
    })
    const fewer = summarizeTrial(cases.slice(0, -1), lanes, { runsMonth: 100, isPriced: false })
    expect([fewer.agreement, fewer.costMonthMicrousd]).toEqual([null, null])
    expect(summarizeTrial([], [], { runsMonth: 1, isPriced: true }).durationMs.baseline.p95).toBe(0)
  })
})

/** A seeded source of numbers from 0 to 1: mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Scene {
  cases: number
  repeats: number
  /** How often each case passes its check, by definition. */
  rates: { baseline: (at: number) => number; candidate: (at: number) => number }
  /** Whether a judge compares, which prefers either answer as often. */
  hasJudge?: boolean
}

/** A trial of a model that passes each check by chance. */
function simulate(scene: Scene, seed: number): Verdict {
  const random = createRandom(seed)
  const answer = (rate: number): ComparedSide => side(String(random()), [random() < rate])
  const cases = Array.from({ length: scene.cases }, (_, at): CountedCase => {
    const observed = answer(scene.rates.baseline(at))
    const samples = Array.from({ length: scene.repeats }, () => ({
      baseline: answer(scene.rates.baseline(at)),
      candidate: answer(scene.rates.candidate(at)),
    }))
    const guess = (): Verdict =>
      (['better', 'worse', 'same'] as const)[Math.floor(random() * 3)] ?? 'same'
    const checks = decideCase(
      samples.map(({ baseline, candidate }) => compareWithoutJudge(baseline, candidate)),
    )
    return {
      state: 'done',
      verdicts: { checks, judge: scene.hasJudge ? guess() : null, people: null },
      noise: scene.hasJudge
        ? null
        : decideCase(samples.map(({ baseline }) => compareWithoutJudge(observed, baseline))),
      toolErrors: null,
      passed: null,
    }
  })
  return summarizeTrial(cases, [], { runsMonth: 0, isPriced: true }).claim
}

const countClaims = (scene: Scene, wanted: Verdict[]): number =>
  Array.from({ length: 100 }, (_, seed) => simulate(scene, seed + 1)).filter((claim) =>
    wanted.includes(claim),
  ).length

describe('by a model that answers by chance', () => {
  const mixed = (at: number) => [0.1, 0.3, 0.5, 0.7, 0.9][at % 5] ?? 0.5
  const equal = { baseline: mixed, candidate: mixed }
  const half = { baseline: () => 0.5, candidate: () => 0.5 }
  const scenes: Record<string, Scene> = {
    'few cases': { cases: 12, repeats: 1, rates: half },
    'many cases': { cases: 200, repeats: 1, rates: half },
    'cases that differ': { cases: 40, repeats: 1, rates: equal },
    'three samples': { cases: 40, repeats: 3, rates: equal },
    'a judge that guesses': { cases: 30, repeats: 1, rates: half, hasJudge: true },
    'few cases and a judge that guesses': { cases: 9, repeats: 1, rates: half, hasJudge: true },
  }
  for (const [name, scene] of Object.entries(scenes)) {
    test(`P6: an equal draft is called better or worse in at most 5 of 100 trials: ${name}`, () => {
      expect(countClaims(scene, ['better', 'worse'])).toBeLessThanOrEqual(5)
    })
  }

  test('P6: a draft that is much better is mostly called so, and never worse', () => {
    const rates = { baseline: () => 0.1, candidate: () => 0.9 }
    const scene = { cases: 40, repeats: 1, rates }
    expect(countClaims(scene, ['better'])).toBeGreaterThan(90)
    expect(countClaims(scene, ['worse'])).toBe(0)
  })
})
