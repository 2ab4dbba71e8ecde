import type { LoopEvent } from '../loop/event'
import type { Ending } from '../loop/state'
import { foldPlan, formatPlanProgress } from './plan'
import { toRunLog } from './run-log'

/**
 * Returns how much of its plan a run has done, as a sentence for a partial answer; null for other
 * answers and without a plan.
 */
export const describeProgress = (ending: Ending, events: LoopEvent[]): string | null =>
  ending.reply === 'partial' ? formatPlanProgress(foldPlan(toRunLog(events, null))) : null
