import type {
  BuiltinTools,
  ModelProtocol,
  ProgramType,
  RunOrder,
  RunReport,
} from '../../src/shared/runner-protocol.ts'

export type End = Extract<RunReport, { kind: 'ended' }>['end']

/** The MCP server with the hub's tools, as programs see it. */
export const hubServer = 'rookery'

/** What a launch is made of. */
export interface LaunchFacts {
  order: RunOrder
  /** The first of the program's protocols that the model's provider speaks. */
  protocol: ModelProtocol
  /** Address of the relay; stands for the model provider. */
  relayUrl: string
  /** Key of the relay; stands for the provider's key. */
  key: string
  home: string
  work: string
  temp: string
  /** Where the pinned program is installed. */
  programFolder: string
}

export interface Launch {
  command: string[]
  env: Record<string, string>
  /** Configuration, by path below the home folder. */
  files: Record<string, string>
  /** Goes with `session/new` and `session/load`. */
  sessionMeta?: Record<string, unknown>
  prompt: string
}

/** What a turn showed, for a program's success predicate. */
export interface TurnFacts {
  /** The result of `session/prompt`. */
  result: Record<string, unknown>
  /** Whether the program said in an update that it failed. */
  hasFailureUpdate: boolean
  answer: string
}

export interface Profile {
  type: ProgramType
  /** How it is spoken to: the Agent Client Protocol, or a command line that ends with the turn. */
  interface: 'acp' | 'command-line'
  /** In order of preference. */
  protocols: ModelProtocol[]
  /** The package whose version counts, below `node_modules` of the program's folder; null: not from npm. */
  packageName: string | null
  /** Which of its own tools can be allowed or switched off; a run that asks for others is refused. */
  builtin: BuiltinTools[]
  /** Whether it uses the hub's tools. */
  hasTools: boolean
  /** Its session starts before the tools are there, so the prompt waits until it has listed them. */
  listsToolsLate: boolean
  launch(facts: LaunchFacts): Launch
  /** Whether the turn was a success by this program's own signs, besides `end_turn`. */
  isSuccess(turn: TurnFacts): boolean
  /** Whether an update says that the turn failed. */
  isFailureUpdate?(update: Record<string, unknown>): boolean
  /** Reads an end from an error of the protocol; undefined: only an error. */
  toEnd?(message: string): End | undefined
}

/** Returns a value at a path of objects; undefined when there is none. */
export const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>(
    (rest, name) =>
      typeof rest === 'object' && rest !== null
        ? (rest as Record<string, unknown>)[name]
        : undefined,
    value,
  )

/** Instructions in front of the task, for programs that have no other place for them. */
export const withInstructions = ({ order }: LaunchFacts): string =>
  order.system_prompt === '' ? order.prompt : `${order.system_prompt}\n\n---\n\n${order.prompt}`
