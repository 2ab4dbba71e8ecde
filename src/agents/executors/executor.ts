/** What carries out an agent's tasks: `type` of its definition (L46). */
export const executorTypes = ['native', 'claude-code', 'goose', 'aider', 'opencode'] as const
export type ExecutorType = (typeof executorTypes)[number]

/** What came of a run, in the hub's words. */
export type ExecutorAction =
  | { kind: 'reply'; text: string; usage: ExecutorUsage | null }
  | { kind: 'nothing' }
  | { kind: 'failed'; message: string }

/** What the program says that it used; null where it says nothing. */
export interface ExecutorUsage {
  inputTokens: number | null
  outputTokens: number | null
  costMicrousd: number | null
}

export type ExecutorEvent =
  /** The loop of the agent's own object goes on; its events are the activation's. */
  | { type: 'handed_over' }
  | { type: 'output'; text: string }
  | { type: 'ended'; action: ExecutorAction }

export interface RunContext {
  /** What the agent is told about itself. */
  systemPrompt: string
  /** The task with its thread, fenced. */
  task: string
  /** `provider/model`; null leaves it to the program. */
  model: string | null
  /** Where programs run; null while none is connected. */
  runner: Runner | null
  signal: AbortSignal
}

/** A machine outside that runs programs for this hub. */
export interface Runner {
  /** What the program writes to its standard output, as it comes. */
  start(command: Command, signal: AbortSignal): AsyncIterable<string>
}

export interface Command {
  program: string
  args: string[]
  /** For its standard input. */
  input: string
}

export interface Executor {
  type: ExecutorType
  /** What is said in place of an answer while it cannot run; null when it can. */
  explainAbsence(agentName: string, runner: Runner | null): string | null
  run(context: RunContext): AsyncIterable<ExecutorEvent>
  /** @param output everything the program wrote to its standard output */
  parseResponse(output: string): ExecutorAction
}
