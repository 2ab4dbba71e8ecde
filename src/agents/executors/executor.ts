/** Executors of an agent's tasks, as `type` in its definition. */
export const executorTypes = ['native', 'claude-code', 'goose', 'aider', 'opencode'] as const
export type ExecutorType = (typeof executorTypes)[number]

/** Result of a run. */
export type ExecutorAction =
  | { kind: 'reply'; text: string; usage: ExecutorUsage | null }
  | { kind: 'nothing' }
  | { kind: 'failed'; message: string }

/** Usage as the program reports it; null where the program doesn't report it. */
export interface ExecutorUsage {
  inputTokens: number | null
  outputTokens: number | null
  costMicrousd: number | null
}

export type ExecutorEvent =
  /** The loop in the agent's own object runs the activation. */
  | { type: 'handed_over' }
  | { type: 'output'; text: string }
  | { type: 'ended'; action: ExecutorAction }

export interface RunContext {
  /** The agent's system prompt. */
  systemPrompt: string
  /** The task with its thread, fenced. */
  task: string
  /** `provider/model`; null for the program's default. */
  model: string | null
  /** Runs programs; null while no runner is connected. */
  runner: Runner | null
  signal: AbortSignal
}

/** An external machine that runs programs for this hub. */
export interface Runner {
  /** Starts a program and yields its standard output. */
  start(command: Command, signal: AbortSignal): AsyncIterable<string>
}

export interface Command {
  program: string
  args: string[]
  /** Standard input of the program. */
  input: string
}

export interface Executor {
  type: ExecutorType
  /** Returns the message posted instead of an answer when the executor cannot run; null when it can. */
  explainUnavailable(agentName: string, runner: Runner | null): string | null
  run(context: RunContext): AsyncIterable<ExecutorEvent>
  /** @param output the program's whole standard output */
  parseResponse(output: string): ExecutorAction
}
