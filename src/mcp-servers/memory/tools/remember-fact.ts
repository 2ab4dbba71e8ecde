import * as z from 'zod'
import { memoryLimits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { memoryErrors } from '../errors'
import { lineInput } from '../inputs'

export const rememberFact = defineTool({
  name: 'remember_fact',
  description:
    'Note a fact that is useful in later tasks, in any thread: what a person prefers, what was ' +
    'decided, where something is. One sentence that is clear on its own, with names and dates. Give ' +
    'the person or place it comes from as source. Not for secrets, or for what only matters in this task. What ' +
    'you note for a direct message or a task given to you stays with its requester.',
  input: z.strictObject({
    text: lineInput(memoryLimits.factCharsMax),
    source: lineInput(memoryLimits.sourceCharsMax)
      .optional()
      .describe('The person who said it, or the url of the post'),
  }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'noting something',
  async run({ input, actor, memory, privacy, hasReadUntrusted: isUntrusted }) {
    const { text, source = '' } = input
    const { privateTo } = privacy
    const noted = { text, source, privateTo, isUntrusted }
    const fact = await memory.rememberFact(actor.accountId, noted)
    if (fact) return { id: fact.id, text }
    throw memoryErrors.tooManyFacts()
  },
})
