/** Executors of an agent's tasks, as `type` in its definition. */
export const executorTypes = ['native', 'claude-code', 'goose', 'aider', 'opencode'] as const
export type ExecutorType = (typeof executorTypes)[number]

export interface Executor {
  type: ExecutorType
  /** Returns the message posted instead of an answer when the executor cannot run; null when it can. */
  explainUnavailable(agentName: string): string | null
}
