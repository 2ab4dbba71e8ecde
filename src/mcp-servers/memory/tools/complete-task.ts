import * as z from 'zod'
import { memoryLimits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { memoryErrors } from '../errors'
import { idInput, lineInput } from '../inputs'

export const completeTask = defineTool({
  name: 'complete_task',
  description:
    'Mark one of your open tasks as done, or as no longer needed. Give the result in the note.',
  input: z.strictObject({
    id: idInput,
    note: lineInput(memoryLimits.taskCharsMax).optional(),
  }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'completing a task',
  async run({ input, actor, memory, privacy }) {
    const { id, note = '' } = input
    const { reader } = privacy
    const task = await memory.completeTask(actor.accountId, { id, note, reader })
    if (task) return { completed: id, text: task.text }
    throw memoryErrors.unknownTask()
  },
})
