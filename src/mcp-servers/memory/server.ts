import type { ToolServer } from '../define-tool'
import { addTask } from './tools/add-task'
import { completeTask } from './tools/complete-task'
import { forgetFact } from './tools/forget-fact'
import { listFacts } from './tools/list-facts'
import { rememberFact } from './tools/remember-fact'
import { updatePlan } from './tools/update-plan'

/** What an agent keeps between tasks, each its own. */
export const memoryServer: ToolServer = {
  name: 'memory',
  description:
    'Your own memory: facts and open tasks that outlast a task, and the plan of this one.',
  isForHosted: true,
  tools: [rememberFact, forgetFact, listFacts, updatePlan, addTask, completeTask],
}
