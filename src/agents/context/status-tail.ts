import type { Environment } from '../../hub/contract'
import { toIsoTime } from '../../iso-time'
import type { Message } from '../loop/message'
import type { LoopState } from '../loop/state'

/** How things stand right before a model call. */
export interface Standing {
  state: LoopState
  /** Null until the hub has told. */
  environment: Environment | null
  /** Bytes of the agent's own storage; null when it keeps nothing. */
  storageBytes: number | null
  hubName: string
  now: number
}

/**
 * What changes from step to step, in words, at the very end of the prompt, so that everything
 * before it stays the same from one step to the next and can be cached (L13, L14). The hook
 * `budget-awareness` adds the budgets (L12).
 */
export function statusTail(standing: Standing): string {
  const { state, environment, now } = standing
  const steps = state.limits.iterations - state.iteration
  const tokens = Math.max(0, state.limits.tokens - state.tokens)
  const seconds = Math.max(0, Math.round((state.endsAt - now) / 1000))
  return [
    '[status]',
    `Time: ${toIsoTime(now)}. Left for this task: ${steps} more steps, ${tokens} tokens, ${seconds} s.`,
    ...(environment ? [describeEnvironment(environment)] : []),
    `You run in a Durable Object of ${standing.hubName}${describeStorage(standing.storageBytes)}.`,
  ].join('\n')
}

/** More than its words and numbers ever take, without the hub's name. */
const statusCharsMax = 320

/** In place of a status that is not known yet, for the room it takes. */
export const statusRoom = (hubName: string): Message => ({
  role: 'user',
  text: '.'.repeat(statusCharsMax) + hubName,
})

const describeStorage = (bytes: number | null): string =>
  bytes === null ? '' : `; it stores ${Math.ceil(bytes / 1024)} KiB`

function describeEnvironment({ inboxDepth, runningActivations }: Environment): string {
  const waiting = inboxDepth === 1 ? '1 more task waits' : `${inboxDepth} more tasks wait`
  const working = runningActivations === 1 ? '1 agent works' : `${runningActivations} agents work`
  return `${waiting} in your inbox. On the hub ${working}, you included.`
}
