/** Counters of one activation. */
export interface ActivationCounters {
  /** Model calls sent, compactions and retries included. */
  modelRequests: number
  modelFailures: number
  toolExecutions: number
  toolFailures: number
  /** Calls that a grant, a definition, a policy, a limit, a hook or a person refused. */
  permissionDenials: number
  /** Calls that could not run: an unknown tool, invalid arguments, or more calls than a run may make. */
  toolRefusals: number
  compactions: number
  retries: number
  parks: number
  /** Trace exports that failed since the last commit. */
  exportFailures: number
}

export const noCounters: ActivationCounters = {
  modelRequests: 0,
  modelFailures: 0,
  toolExecutions: 0,
  toolFailures: 0,
  permissionDenials: 0,
  toolRefusals: 0,
  compactions: 0,
  retries: 0,
  parks: 0,
  exportFailures: 0,
}
