import * as z from 'zod'
import { notFound } from '../../../errors'
import { defineTool } from '../../define-tool'
import { idInput } from '../inputs'

export const forgetFact = defineTool({
  name: 'forget_fact',
  description:
    'Forget a fact for good, because it is wrong or out of date, or because somebody asked you to. ' +
    'To correct one, forget it and remember the right one.',
  input: z.strictObject({ id: idInput }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'forgetting something',
  async run({ input, actor, memory }) {
    if (await memory.forgetFact(actor.accountId, input.id)) return { forgotten: input.id }
    throw notFound('fact', 'memory_list_facts lists them with their numbers.')
  },
})
