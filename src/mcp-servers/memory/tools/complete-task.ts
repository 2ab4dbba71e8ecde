import * as z from 'zod'
import { memoryLimits } from '../../../config'
import { notFound } from '../../../errors'
import { defineTool } from '../../define-tool'
import { idInput, lineInput } from '../inputs'

export const completeTask = defineTool({
  name: 'complete_task',
  description:
    'Mark one of your open tasks as done, or as no longer needed. Say in the note what came of it.',
  input: z.strictObject({
    id: idInput,
    note: lineInput(memoryLimits.taskCharsMax).optional(),
  }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'completing a task',
  async run({ input, actor, memory }) {
    const { id, note = '' } = input
    const text = await memory.completeTask(actor.accountId, { id, note })
    if (text !== null) return { completed: id, text }
    throw notFound('task', 'memory_list_facts lists your open tasks with their numbers.')
  },
})
