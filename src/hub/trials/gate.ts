import { formatPlural } from '../../shared/format'
import type { TrialGate } from '../contract/hub'
import type { TrialSummary } from './summary'
import type { TrialStatus } from './trial-actions'

/** What becomes of a definition that is held; `reason` is a sentence. It waits for lanes and for people. */
type GateDecision = { kind: 'wait' } | { kind: 'pass' } | { kind: 'fail'; reason: string }

const fail = (reason: string): GateDecision => ({ kind: 'fail', reason })

/** Decides by its trial whether a held definition is applied. When most cases show nothing, it is not. */
export function decideGate(
  { worseMax, costChangeMax }: Omit<TrialGate, 'set' | 'repeats'>,
  status: TrialStatus,
  summary: TrialSummary,
): GateDecision {
  if (status === 'cancelled') return fail('Its trial was cancelled.')
  const { worse, better, same, cannotTell, skipped, waiting, open } = summary
  // Whatever else it shows, this is not made good again.
  if (worse > worseMax) {
    const most = worseMax === 0 ? 'none' : `at most ${worseMax}`
    return fail(`It does worse in ${formatPlural(worse, 'case', 'cases')}, and ${most} may be.`)
  }
  if (open > 0 || waiting > 0) return { kind: 'wait' }
  const decided = better + worse + same
  const undecided = cannotTell + skipped
  if (decided <= undecided) {
    return fail(
      `Only ${decided} of ${formatPlural(decided + undecided, 'case', 'cases')} could be compared.`,
    )
  }
  if (costChangeMax !== null) {
    const change = findCostChange(summary)
    if (change === null) return fail('What it costs is not known, because a model has no price.')
    if (change > costChangeMax) {
      const more = change === Number.POSITIVE_INFINITY ? '' : ` ${formatShare(change)} more`
      return fail(
        `Its runs cost${more || ', which they do not now'}, and at most ${formatShare(costChangeMax)} more is allowed.`,
      )
    }
  }
  return { kind: 'pass' }
}

/** Returns how much more the draft costs, as a share; null when that is not known. What cost nothing and does now is infinite. */
function findCostChange({ costMonthMicrousd: cost }: TrialSummary): number | null {
  if (cost === null) return null
  if (cost.candidate === cost.baseline) return 0
  return cost.baseline === 0
    ? Number.POSITIVE_INFINITY
    : (cost.candidate - cost.baseline) / cost.baseline
}

const formatShare = (share: number): string => `${Math.round(100 * share)} %`
