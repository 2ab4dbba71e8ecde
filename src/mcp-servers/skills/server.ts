import type { ToolServer } from '../tool/define-tool'
import { readSkill } from './tools/read-skill'

/** Reading the skills of the agent's own definition. */
export const skillsServer: ToolServer = {
  name: 'skills',
  description: "The skills of a hosted agent's definition, read in full when they are needed.",
  isOwnStore: true,
  isForHosted: true,
  tools: [readSkill],
}
