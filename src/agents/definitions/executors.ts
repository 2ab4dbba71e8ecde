import { type ModelProtocol, type ProgramType, programTypes } from '../../shared/runner-protocol'

/** What runs an agent's tasks, as `type` in its definition: the loop of its own object, or a coding agent. */
export const executorTypes = ['native', ...programTypes] as const
export type ExecutorType = (typeof executorTypes)[number]

/** Returns the coding agent of a type; null for an agent that runs natively. */
export const findProgram = (type: ExecutorType): ProgramType | null =>
  type === 'native' ? null : type

/** What the hub has to know of a coding agent; how it is started is known to runners alone. */
interface Program {
  /** Protocols of models that it speaks, the preferred one first. */
  protocols: readonly ModelProtocol[]
  /** Whether it uses the hub's tools, over MCP. */
  takesTools: boolean
  /** For how long it surely waits for the answer to a call of a tool, in milliseconds. */
  callWaitMs: number
}

/** The coding agents that a definition can name. */
export const programs: Record<ProgramType, Program> = {
  'claude-code': { protocols: ['anthropic-messages'], takesTools: true, callWaitMs: 900_000 },
  codex: { protocols: ['openai-responses'], takesTools: true, callWaitMs: 45_000 },
  opencode: { protocols: ['openai-chat'], takesTools: true, callWaitMs: 45_000 },
  goose: {
    protocols: ['openai-chat', 'anthropic-messages'],
    takesTools: true,
    callWaitMs: 240_000,
  },
  aider: { protocols: ['openai-chat', 'anthropic-messages'], takesTools: false, callWaitMs: 0 },
}

/** Returns the protocols that both a program and a provider speak, the program's preferred one first. */
export const sharedProtocols = (
  program: ProgramType,
  provider: readonly ModelProtocol[],
): ModelProtocol[] => programs[program].protocols.filter((each) => provider.includes(each))

/** Returns the programs that speak any of these protocols. */
export const programsFor = (provider: readonly ModelProtocol[]): ProgramType[] =>
  (Object.keys(programs) as ProgramType[]).filter(
    (program) => sharedProtocols(program, provider).length > 0,
  )
