import { trialLimits } from '../../shared/config'
import { formatPlural } from '../../shared/format'
import type { Verdict } from '../contract/hub'

/** What can be said of a trial as a whole. */
export interface TrialSummary {
  better: number
  worse: number
  same: number
  cannotTell: number
  /** Cases whose answers people have to compare. */
  waiting: number
  /** Cases that have not ended. */
  open: number
  skipped: number
  /** Share of the cases with a difference in which the draft is better: Wilson score interval, 95 %; null without such cases. */
  interval: Interval | null
  /** Cases in which the active definition did better or worse than what happened: differences that no draft made. */
  noise: number
  /** Never better or worse inside the noise. */
  claim: Verdict
  /** Why, as a sentence. */
  reason: string
  /** Of samples with checks: how many passed all of them, and of cases: how many in all samples. */
  passed: Record<Side, { samples: number; of: number; allSamples: number; cases: number }>
  /** Without that of reused lanes. */
  costMicrousd: number
  /** Lanes that have the result of an earlier replay. */
  reused: number
  /** Of a month with as many runs of the agent as the 30 days before the trial had; null without a price. */
  costMonthMicrousd: Record<Side, number> | null
  durationMs: Record<Side, { p50: number; p95: number }>
  /** Tool calls that failed. */
  toolErrors: Record<Side, number>
  /** How often judge and people agree, once enough cases have both; null before. */
  agreement: { same: number; of: number } | null
}

type Side = 'baseline' | 'candidate'
type Interval = { low: number; high: number }

/** A case as it is counted. */
export interface CountedCase {
  state: 'queued' | 'running' | 'judging' | 'done' | 'skipped' | 'cancelled'
  verdicts: { checks: Verdict | null; judge: Verdict | null; people: Verdict | null }
  /** How the active definition did compared with what happened; null when that is not known. */
  noise: Verdict | null
  toolErrors: Record<Side, number> | null
  /** By sample whether it passed all checks; null without checks or results. */
  passed: Record<Side, boolean[]> | null
}

/** A lane as it is counted. */
export interface CountedLane {
  lane: Side | 'judge'
  isDone: boolean
  /** Whether an earlier replay has paid its cost. */
  isReused: boolean
  costMicrousd: number
  durationMs: number
}

/** Returns the verdict that counts: that of a person, else that of a judge, else that of the checks. */
export const findVerdict = ({ checks, judge, people }: CountedCase['verdicts']): Verdict | null =>
  people ?? judge ?? checks

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0)

/** Returns what can be said of a trial as a whole. */
export function summarizeTrial(
  cases: CountedCase[],
  lanes: CountedLane[],
  { runsMonth, isPriced }: { runsMonth: number; isPriced: boolean },
): TrialSummary {
  const counts = countCases(cases)
  const lanesOf = (side: Side) => lanes.filter(({ lane, isDone }) => lane === side && isDone)
  const [baseline, candidate] = [lanesOf('baseline'), lanesOf('candidate')]
  return {
    ...counts,
    interval: computeInterval(counts.better, counts.better + counts.worse),
    ...findClaim(counts),
    passed: {
      baseline: countPassed(cases, 'baseline'),
      candidate: countPassed(cases, 'candidate'),
    },
    costMicrousd: sum(lanes.map(({ costMicrousd, isReused }) => (isReused ? 0 : costMicrousd))),
    reused: lanes.filter(({ isReused }) => isReused).length,
    costMonthMicrousd:
      isPriced && baseline.length > 0 && candidate.length > 0
        ? {
            baseline: computeMonth(baseline, runsMonth),
            candidate: computeMonth(candidate, runsMonth),
          }
        : null,
    durationMs: { baseline: computeTimes(baseline), candidate: computeTimes(candidate) },
    toolErrors: {
      baseline: sum(cases.map(({ toolErrors }) => toolErrors?.baseline ?? 0)),
      candidate: sum(cases.map(({ toolErrors }) => toolErrors?.candidate ?? 0)),
    },
    agreement: countAgreement(cases),
  }
}

/** How many cases there are of each kind. */
export type CaseCounts = Pick<
  TrialSummary,
  'better' | 'worse' | 'same' | 'cannotTell' | 'waiting' | 'open' | 'skipped' | 'noise'
>

function countCases(cases: CountedCase[]): CaseCounts {
  const done = cases.filter(({ state }) => state === 'done')
  const verdicts = done.map(({ verdicts }) => findVerdict(verdicts))
  const count = (wanted: Verdict | null) => verdicts.filter((verdict) => verdict === wanted).length
  const isOpen = ({ state }: CountedCase) => ['queued', 'running', 'judging'].includes(state)
  return {
    better: count('better'),
    worse: count('worse'),
    same: count('same'),
    cannotTell: count('cannot_tell'),
    waiting: count(null),
    open: cases.filter(isOpen).length,
    skipped: cases.filter(({ state }) => state === 'skipped').length,
    noise: done.filter(({ noise }) => noise === 'better' || noise === 'worse').length,
  }
}

/** The 0.975 quantile of the normal distribution. */
const z = 1.959964

/**
 * Returns the Wilson score interval (95 %) of a share; null of nothing.
 *
 * E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American Statistical
 * Association 22 (1927), 209-212; method 3 of R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, where tests have
 * their values from.
 */
export function computeInterval(successes: number, of: number): Interval | null {
  if (of === 0) return null
  const share = successes / of
  const scale = 1 + z ** 2 / of
  const center = (share + z ** 2 / (2 * of)) / scale
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2))
  // rounding goes beyond what a share can be
  return { low: Math.max(0, center - half), high: Math.min(1, center + half) }
}

type Claim = Pick<TrialSummary, 'claim' | 'reason'>

const cannotTell = (reason: string): Claim => ({ claim: 'cannot_tell', reason })
const formatCases = (count: number): string => formatPlural(count, 'case', 'cases')

/**
 * Returns what can be claimed. Better or worse: enough cases differ, the interval of their shares excludes one half, and the
 * net difference is beyond the noise, even when all cases that wait for people turn out the other way. The same: most
 * cases could be compared, and no more of them differ than by the noise.
 */
export function findClaim(counts: CaseCounts): Claim {
  const { better, worse, same, waiting, open, noise } = counts
  const differing = better + worse
  if (open > 0) {
    return cannotTell(`${formatCases(open)} ${open === 1 ? 'has' : 'have'} not ended.`)
  }
  if (isBeyond(better, worse + waiting, noise)) return describeDifference('better', counts)
  if (isBeyond(worse, better + waiting, noise)) return describeDifference('worse', counts)
  if (waiting > 0) {
    return cannotTell(`The answers of ${formatCases(waiting)} have not been compared.`)
  }
  if (differing + same === 0) return cannotTell('No case could be compared.')
  if (counts.cannotTell >= differing + same) {
    return cannotTell(
      `${formatCases(counts.cannotTell)} could not be compared: too many to say more.`,
    )
  }
  if (differing === 0) return { claim: 'same', reason: 'No case that could be compared differs.' }
  if (differing <= noise) {
    const reason = `${formatCases(differing)} differ: no more than the ${noise} in which the active definition differs from what happened.`
    return { claim: 'same', reason }
  }
  return cannotTell(explainDoubt(counts))
}

/** Whether one side is ahead by more than chance and noise explain. */
function isBeyond(ahead: number, behind: number, noise: number): boolean {
  const differing = ahead + behind
  const interval = computeInterval(ahead, differing)
  return (
    interval !== null &&
    differing >= trialLimits.differencesMin &&
    interval.low > 0.5 &&
    ahead - behind > noise
  )
}

function describeDifference(claim: 'better' | 'worse', { better, worse }: CaseCounts): Claim {
  const ahead = claim === 'better' ? better : worse
  const reason = `The draft is ${claim} in ${ahead} of the ${formatCases(better + worse)} that differ, which chance and noise do not explain.`
  return { claim, reason }
}

function explainDoubt({ better, worse, noise }: CaseCounts): string {
  const differing = better + worse
  if (differing < trialLimits.differencesMin) {
    const found = `Only ${formatCases(differing)} ${differing === 1 ? 'differs' : 'differ'}`
    return `${found}: fewer than the ${trialLimits.differencesMin} that rule out chance.`
  }
  const isChance = !isBeyond(Math.max(better, worse), Math.min(better, worse), -1)
  return isChance
    ? `${better} better and ${worse} worse can be chance.`
    : `${better} better and ${worse} worse is within the noise: in ${formatCases(noise)} the active definition differs from what happened.`
}

function countPassed(cases: CountedCase[], side: Side): TrialSummary['passed'][Side] {
  const checked = cases.flatMap(({ passed }) => (passed ? [passed[side]] : []))
  return {
    samples: checked.flat().filter(Boolean).length,
    of: checked.flat().length,
    allSamples: checked.filter((samples) => samples.every(Boolean)).length,
    cases: checked.length,
  }
}

const computeMonth = (lanes: CountedLane[], runs: number): number =>
  Math.round((sum(lanes.map(({ costMicrousd }) => costMicrousd)) / lanes.length) * runs)

/** Returns percentiles by nearest rank, in milliseconds; 0 of nothing. */
function computeTimes(lanes: CountedLane[]): { p50: number; p95: number } {
  const sorted = lanes.map(({ durationMs }) => durationMs).sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { p50: at(0.5), p95: at(0.95) }
}

function countAgreement(cases: CountedCase[]): TrialSummary['agreement'] {
  const both = cases.filter(({ verdicts: { judge, people } }) => judge !== null && people !== null)
  if (both.length < trialLimits.agreementMin) return null
  return {
    same: both.filter(({ verdicts: { judge, people } }) => judge === people).length,
    of: both.length,
  }
}
