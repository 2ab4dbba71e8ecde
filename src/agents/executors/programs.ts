import type { ModelProtocol, ProgramType } from '../../shared/runner-protocol'

/** What the hub has to know of a coding agent; how it is started is known to runners alone. */
interface Program {
  /** Protocols of models that it speaks, the preferred one first. */
  protocols: readonly ModelProtocol[]
  /** Whether it uses the hub's tools, over MCP. */
  takesTools: boolean
}

/** The coding agents that a definition can name. */
export const programs: Record<ProgramType, Program> = {
  'claude-code': { protocols: ['anthropic-messages'], takesTools: true },
  codex: { protocols: ['openai-responses'], takesTools: true },
  opencode: { protocols: ['openai-chat'], takesTools: true },
  goose: { protocols: ['openai-chat', 'anthropic-messages'], takesTools: true },
  aider: { protocols: ['openai-chat', 'anthropic-messages'], takesTools: false },
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
