import { hasSameWords } from '../../shared/fold-text'
import type { CheckResult, Judgement, Verdict } from '../contract/hub'

/** One definition's answer to a case, as it is compared. */
export interface ComparedSide {
  answer: string
  /** Of the checks of the case, in their order. */
  results: CheckResult[]
  /** Why it does not show what would have happened; null when it does. */
  incomplete: string | null
  /** Whether its run failed, so that it has no answer to compare. */
  hasFailed: boolean
}

/** What was found of one sample. */
export interface SampleDecision {
  /** Null: neither the checks nor the texts decide it. */
  verdict: Verdict | null
  /** Why it cannot be decided, as a sentence. */
  reason: string | null
}

const hasPassedAll = ({ results }: ComparedSide): boolean => results.every(({ passed }) => passed)

const passedTheSame = (a: ComparedSide, b: ComparedSide): boolean =>
  a.results.length === b.results.length &&
  a.results.every(({ passed }, at) => passed === b.results[at]?.passed)

/**
 * Compares the answers of a sample by their checks: the side that alone passes all of them is better, and a run that alone
 * failed is worse. Otherwise answers with the same words are the same: nobody can distinguish them. Returns no verdict when
 * that does not decide it.
 */
export function compareByChecks(baseline: ComparedSide, candidate: ComparedSide): SampleDecision {
  const reason = findIncompleteSide(baseline, candidate)
  if (reason !== null) return { verdict: 'cannot_tell', reason }
  if (baseline.hasFailed || candidate.hasFailed) {
    if (baseline.hasFailed && candidate.hasFailed) {
      return { verdict: 'cannot_tell', reason: 'The runs of both definitions failed.' }
    }
    return { verdict: baseline.hasFailed ? 'better' : 'worse', reason: null }
  }
  const isBetter = hasPassedAll(candidate)
  if (isBetter !== hasPassedAll(baseline)) {
    return { verdict: isBetter ? 'better' : 'worse', reason: null }
  }
  const isSame = hasSameWords(baseline.answer, candidate.answer)
  return { verdict: isSame ? 'same' : null, reason: null }
}

/** Returns which definition could not run whole and why, as a sentence; null when both could. */
function findIncompleteSide(baseline: ComparedSide, candidate: ComparedSide): string | null {
  if (candidate.incomplete !== null) return `The draft could not run whole. ${candidate.incomplete}`
  return baseline.incomplete === null
    ? null
    : `The active definition could not run whole. ${baseline.incomplete}`
}

/** Compares a sample that no judge sees: with checks, answers that passed the same ones are the same. */
export function compareWithoutJudge(
  baseline: ComparedSide,
  candidate: ComparedSide,
): SampleDecision {
  const decision = compareByChecks(baseline, candidate)
  if (decision.verdict !== null || baseline.results.length === 0) return decision
  return { ...decision, verdict: passedTheSame(baseline, candidate) ? 'same' : null }
}

/** Returns what a judgement says of the draft. @param first which definition's answer was shown first */
export function toVerdict(says: Judgement, first: 'baseline' | 'candidate'): Verdict {
  if (says === 'same' || says === 'cannot_tell') return says
  return (says === 'first') === (first === 'candidate') ? 'better' : 'worse'
}

/**
 * Decides a case by its samples: the draft is better when it is so in more of them than it is worse. Null while one of
 * them is not decided.
 */
export function decideCase(samples: SampleDecision[]): Verdict | null {
  const verdicts = samples.map(({ verdict }) => verdict)
  if (verdicts.length === 0 || verdicts.includes(null)) return null
  const count = (wanted: Verdict) => verdicts.filter((verdict) => verdict === wanted).length
  const net = count('better') - count('worse')
  if (net !== 0) return net > 0 ? 'better' : 'worse'
  return count('same') === verdicts.length ? 'same' : 'cannot_tell'
}

/** Returns why samples cannot be decided, each reason once; null when there is none. */
export function joinReasons(samples: SampleDecision[]): string | null {
  const reasons = new Set(samples.flatMap(({ reason }) => reason ?? []))
  return reasons.size === 0 ? null : [...reasons].join(' ')
}

/** What a judge said of one order of two answers: what its lane stores as its answer. */
export interface StoredJudgement {
  says: Judgement
  reason: string
}

const judgements: readonly string[] = ['first', 'second', 'same', 'cannot_tell']

/** Reads what the lane of a judge has stored. Anything else, such as the answer of a lane that failed, is no judgement. */
export function readJudgement(answer: string): StoredJudgement {
  try {
    const { says, reason }: Partial<Record<string, unknown>> = JSON.parse(answer)
    if (typeof says === 'string' && typeof reason === 'string' && judgements.includes(says)) {
      return { says: says as Judgement, reason }
    }
  } catch {
    // no JSON: the lane has ended without a judgement
  }
  return { says: 'cannot_tell', reason: 'The judge did not answer.' }
}

/**
 * Returns what a judge finds of a sample, asked twice: `one` with the answer of the active definition first, `other` with
 * that of the draft first. Whoever names the same place twice has not looked at the answers, so that is no verdict.
 */
export function combineJudgements(
  one: StoredJudgement,
  other: StoredJudgement,
): { verdict: Verdict; reason: string } {
  const [a, b] = [toVerdict(one.says, 'baseline'), toVerdict(other.says, 'candidate')]
  if (a === b) return { verdict: a, reason: one.reason }
  const unsure = [one, other].find(({ says }) => says === 'cannot_tell')
  if (unsure) return { verdict: 'cannot_tell', reason: unsure.reason }
  const isOfPlace = one.says === other.says
  return {
    verdict: 'cannot_tell',
    reason: isOfPlace
      ? `The judge preferred the ${one.says} answer in either order.`
      : 'The judge decided otherwise when the order of the answers was exchanged.',
  }
}
