import type { Environment } from '../../hub/contract/hub'
import type { FileUse } from '../../mcp-servers/contract/tools'
import { workspaceLimits } from '../../shared/config'
import { toIsoTime } from '../../shared/iso-time'
import type { Message } from '../loop/message'
import type { LoopState } from '../loop/state'

/** The state right before a model call. */
export interface StatusSources {
  state: LoopState
  /** Null until the hub has sent it. */
  environment: Environment | null
  /** Bytes of the agent's own storage; null when it has no memory. */
  storageBytes: number | null
  /** The agent's own files that the run sees; null when it may use none. */
  files: FileUse | null
  hubName: string
  now: number
  /** The time that the model reads. */
  shownAt: number
}

/**
 * Returns the status message: what changes from step to step. It is the end of the prompt, so that
 * everything before it stays the same between steps and can be cached. The hook `budget-awareness`
 * adds the budgets.
 */
export function buildStatusTail(standing: StatusSources): string {
  const { state, environment, now, shownAt } = standing
  const steps = state.limits.iterations - state.iteration
  const tokens = Math.max(0, state.limits.tokens - state.tokens)
  const seconds = Math.max(0, Math.round((state.endsAt - now) / 1000))
  return [
    '[status]',
    `Time: ${toIsoTime(shownAt)}. Left for this task: ${steps} more steps, ${tokens} tokens, ${seconds} s.`,
    ...(environment ? [describeEnvironment(environment)] : []),
    ...(standing.files ? [describeFiles(standing.files)] : []),
    `You run in a Durable Object of ${standing.hubName}${describeStorage(standing.storageBytes)}.`,
  ].join('\n')
}

/** Upper bound of the status message's length, without the hub's name. */
const statusCharsMax = 384

/** Returns a placeholder as long as a status message, to estimate a prompt before the status is known. */
export const createStatusPlaceholder = (hubName: string): Message => ({
  role: 'user',
  text: '.'.repeat(statusCharsMax) + hubName,
})

const describeStorage = (bytes: number | null): string =>
  bytes === null ? '' : `; it stores ${formatKib(bytes)}`

const describeFiles = ({ files, bytes }: FileUse): string =>
  `Your workspace has ${files} of ${workspaceLimits.filesMax} files, ${formatKib(bytes)} of ${formatKib(workspaceLimits.bytesMax)}.`

const formatKib = (bytes: number): string => `${Math.ceil(bytes / 1024)} KiB`

function describeEnvironment({ inboxDepth, runningActivations }: Environment): string {
  const waiting =
    inboxDepth === 1 ? '1 more task is waiting' : `${inboxDepth} more tasks are waiting`
  const running =
    runningActivations === 1 ? '1 agent is running' : `${runningActivations} agents are running`
  return `${waiting} in your inbox. On the hub ${running}, including you.`
}
