import { type ProgramType, programTypes } from '../../shared/runner-protocol'

/** What runs an agent's tasks, as `type` in its definition: the loop of its own object, or a coding agent. */
export const executorTypes = ['native', ...programTypes] as const
export type ExecutorType = (typeof executorTypes)[number]

/** Returns the coding agent of a type; null for an agent that runs natively. */
export const findProgram = (type: ExecutorType): ProgramType | null =>
  type === 'native' ? null : type
