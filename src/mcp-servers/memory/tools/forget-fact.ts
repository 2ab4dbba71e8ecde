import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
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
  async run({ input, actor, memory, privacy }) {
    const { id } = input
    const { reader } = privacy
    if (await memory.forgetFact(actor.accountId, { id, reader })) return { forgotten: id }
    throw memoryErrors.unknownFact()
  },
})
