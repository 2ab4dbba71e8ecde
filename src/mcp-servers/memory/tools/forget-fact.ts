import * as z from 'zod'
import { defineTool } from '../../define-tool'
import { memoryErrors } from '../errors'
import { idInput } from '../inputs'

export const forgetFact = defineTool({
  name: 'forget_fact',
  description:
    'Delete a fact permanently, because it is wrong or out of date, or because a person asked you to. ' +
    'To correct a fact, delete it and note the right one.',
  input: z.strictObject({ id: idInput }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'deleting a note',
  async run({ input, actor, memory }) {
    if (await memory.forgetFact(actor.accountId, input.id)) return { forgotten: input.id }
    throw memoryErrors.unknownFact()
  },
})
