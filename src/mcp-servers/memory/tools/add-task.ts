import * as z from 'zod'
import { memoryLimits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { memoryErrors } from '../errors'
import { lineInput } from '../inputs'

export const addTask = defineTool({
  name: 'add_task',
  description:
    'Note something that you have promised or must come back to after this task. Your open tasks are ' +
    'shown to you in every task. Adding one does not start any work. What you add for a direct message or a task given to you ' +
    'stays with its requester.',
  input: z.strictObject({ text: lineInput(memoryLimits.taskCharsMax) }),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'noting a task',
  async run({ input, actor, memory, privacy, hasReadUntrusted: isUntrusted }) {
    const { text } = input
    const { accountId, idempotencyKey: key } = actor
    const { privateTo } = privacy
    const task = await memory.addTask(accountId, { text, key, privateTo, isUntrusted })
    if (task) return { id: task.id, text }
    throw memoryErrors.tooManyTasks()
  },
})
