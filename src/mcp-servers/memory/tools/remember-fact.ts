import * as z from 'zod'
import { memoryLimits } from '../../../config'
import { AppError } from '../../../errors'
import { defineTool } from '../../define-tool'
import { lineInput } from '../inputs'

export const rememberFact = defineTool({
  name: 'remember_fact',
  description:
    'Note a fact that will be of use in later tasks, in any thread: what somebody prefers, what was ' +
    'decided, where something is. One sentence that stands on its own, with names and dates. Say in ' +
    'source who said it or where. Not for secrets, and not for what only matters in this task.',
  input: z.strictObject({
    text: lineInput(memoryLimits.factCharsMax),
    source: lineInput(memoryLimits.sourceCharsMax)
      .optional()
      .describe('Who said it, or the url of the post'),
  }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'noting something',
  async run({ input, actor, memory }) {
    const { text, source = '' } = input
    const fact = await memory.rememberFact(actor.accountId, { text, source })
    if (fact) return { id: fact.id, text }
    throw new AppError(
      'CONFLICT',
      `You remember ${memoryLimits.factsMax} facts, which is all you may.`,
      {
        hint: 'Forget one that is out of date with memory_forget_fact, then try again.',
      },
    )
  },
})
