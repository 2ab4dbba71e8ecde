import * as z from 'zod'
import { notFound } from '../../shared/errors'
import { defineTool, type ToolServer } from '../tool/define-tool'

const readSkill = defineTool({
  name: 'read_skill',
  description:
    'Read the full text of one of your skills: step-by-step instructions for this hub. Your prompt ' +
    'lists them by name. Call it before you do what a skill is about.',
  input: z.strictObject({ name: z.string().trim().min(1).max(64) }),
  tier: 'read',
  grant: 'skills:read',
  isIdempotent: true,
  doing: 'reading a skill',
  async run({ input, actor, memory }) {
    const text = await memory.readSkill(actor.accountId, input.name)
    if (text !== null) return text
    throw notFound('skill', 'Your prompt lists your skills.')
  },
})

/** Reading the skills of the agent's own definition. */
export const skillsServer: ToolServer = {
  name: 'skills',
  description: "The skills of a hosted agent's definition, read in full when they are needed.",
  isOwnStore: true,
  isForHosted: true,
  tools: [readSkill],
}
