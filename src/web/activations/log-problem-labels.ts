import type { RunLogProblem } from '../../agents/contract/agents'

/** Why the log of a run cannot be shown. */
export const logProblemLabels: Record<RunLogProblem, string> = {
  not_json: 'Its log is damaged: it is not valid JSON.',
  other_version: 'Another version of Rookery wrote its log.',
  invalid: 'Its log is damaged: an event is missing or incomplete.',
}
