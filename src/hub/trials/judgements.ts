import type { Judgement, Verdict } from '../contract/hub'
import { toVerdict } from './verdicts'

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
