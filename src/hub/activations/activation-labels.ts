/** Title of the page of an activation, by state. */
export const titleByState = {
  running: (agentName: string) => `${agentName} is working`,
  parked: (agentName: string) => `${agentName} is waiting`,
  done: (agentName: string) => `Run of ${agentName}`,
} as const

/** Status of a plan's step. */
export const planStatusLabels = {
  pending: 'to do',
  running: 'in progress',
  completed: 'done',
  failed: 'failed',
} as const
