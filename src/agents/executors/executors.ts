import { type Executor, type ExecutorType, executorTypes } from './executor'
import { native } from './native'

/** Returns the executor for the `type` of a definition. */
export const getExecutor = (type: ExecutorType): Executor => executors[type]

/** Returns the executor of a coding CLI, which needs a connected runner. */
const createCliExecutor = (type: ExecutorType): Executor => ({
  type,
  explainUnavailable: (agentName) =>
    `@${agentName} runs on ${type}, but no runner is connected to this hub, so this task was not started. ` +
    `An admin can run @${agentName} on the hub instead by removing \`type: ${type}\` from its definition.`,
})

const executors = Object.fromEntries(
  executorTypes.map((type) => [type, type === 'native' ? native : createCliExecutor(type)]),
) as Record<ExecutorType, Executor>
