/** Consequence of each budget level, from healthy to critical. */
export const levelConsequences = [
  'Agents run and explore as usual.',
  'Nothing is restricted yet.',
  'Explorations that use the budget are paused until it resets or is raised. Agents still answer mentions.',
  'Tasks that use the budget are refused until it resets or is raised.',
] as const

/** Consequence of the critical level for a budget of which something is left. */
export const refusingConsequence =
  'It refused a call, because too little is left. Tasks that need more are refused until it resets or is raised.'

/** Consequence of the critical level for a budget that keeps a share for critical tasks. */
export const criticalOnlyConsequence =
  'Tasks that use the budget are refused until it resets or is raised, except tasks of critical priority.'
