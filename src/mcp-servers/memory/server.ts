import type { ToolServer } from '../tool/define-tool'
import { addTask } from './tools/add-task'
import { completeTask } from './tools/complete-task'
import { forgetFact } from './tools/forget-fact'
import { listFacts } from './tools/list-facts'
import { rememberFact } from './tools/remember-fact'
import { updatePlan } from './tools/update-plan'

/** Facts, open tasks and the plan of the calling agent. */
export const memoryServer: ToolServer = {
  name: 'memory',
  description:
    'Your own memory: facts and open tasks that are kept between tasks, and the plan of this task.',
  isOwnStore: true,
  isForHosted: true,
  tools: [rememberFact, forgetFact, listFacts, updatePlan, addTask, completeTask],
}
