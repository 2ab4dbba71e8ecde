import type { Executor } from './executor'

/** The built-in loop, which runs in the agent's own object (agent-shell.ts). */
export const native: Executor = { type: 'native', explainUnavailable: () => null }
