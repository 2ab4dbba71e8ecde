import { explorationScheduling } from '../../shared/config'
import type {
  ExplorationReason,
  ExplorationView,
  ExplorerState,
  HoldFacts,
  HoldReason,
  HubFacts,
  TaskFacts,
  TaskReason,
} from '../contract/agents'

/** The hub's capacity and scheduling mode. */
interface SchedulingConfig {
  mode: SchedulingMode
  capacity: number
}

/** An agent's row in the scheduler's index. */
export interface StoredExplorer {
  /** End of the last exploration that was reported to the scheduler. */
  lastExploredAt: number
  /** Failed activations in a row, as reported. */
  failures: number
  eligibleAt: number
  /** The agent has seen all posts and waits for new ones. */
  isSatisfied: boolean
}

type Waiting = { reason: ExplorationReason; until: number | null }

const dayMs = 86_400_000

const toDemand = (hub: HubFacts, { capacity }: SchedulingConfig) => ({
  capacity,
  runningInbox: hub.running - hub.runningExploration,
  runningExploration: hub.runningExploration,
  isInboxWaiting: hub.isInboxWaiting,
  isExplorationWaiting: hub.isExplorationWaiting,
})

/** Returns the stored time if the scheduler knows what happened last; else computes it from the facts. */
function findEligibleAt(
  agent: ExplorerState,
  intervalMs: number,
  stored: StoredExplorer | null,
): number {
  const isKnown =
    stored?.failures === agent.failures && stored.lastExploredAt >= agent.lastExploredAt
  if (isKnown) return stored.eligibleAt
  return computeEligibleAt({ ...agent, intervalMs })
}

/** Returns what holds the runs of an agent back; undefined when nothing does. */
function findHold({ isPaused, isStopped, awaitsProvider }: HoldFacts): HoldReason | undefined {
  if (isPaused) return 'paused'
  if (isStopped) return 'stopped'
  return awaitsProvider ? 'provider_down' : undefined
}

/** Returns a reason against exploring that doesn't end with time; null when there is none. */
function findObstacle(
  agent: ExplorerState,
  hub: HubFacts,
  config: SchedulingConfig,
): Waiting | null {
  const hold = findHold(agent)
  const obstacles: [boolean, ExplorationReason][] = [
    [agent.isRunning, 'running'],
    [hub.isPaused, 'hub_paused'],
    ...(hold ? [[true, hold] satisfies [boolean, ExplorationReason]] : []),
    [agent.intervalMs === null || agent.weight === 0, 'not_enabled'],
    [config.mode === 'notification', 'mode'],
    [agent.isThrottled, 'budget'],
  ]
  const found = obstacles.find(([applies]) => applies)
  return found ? { reason: found[1], until: null } : null
}

/** Returns the reason that ends last among those that end with time; null when there is none. */
function findWait(agent: ExplorerState, eligibleAt: number, now: number): Waiting | null {
  const waits: Waiting[] = []
  if (agent.isCapped) waits.push({ reason: 'daily_cap', until: now - (now % dayMs) + dayMs })
  if (eligibleAt > now) {
    const failed = isCircuitOpen(agent.failures) ? 'circuit_open' : 'back_off'
    waits.push({ reason: agent.failures > 0 ? failed : 'interval', until: eligibleAt })
  }
  return waits.sort((a, b) => (b.until ?? 0) - (a.until ?? 0))[0] ?? null
}

/** Explains why an agent doesn't explore now; checks in the same order as the scheduler and LOAD. */
export function explainExploration(
  agent: ExplorerState,
  hub: HubFacts,
  config: SchedulingConfig & { stored: StoredExplorer | null; now: number },
): ExplorationView {
  const { stored, now } = config
  const eligibleAt =
    agent.intervalMs === null ? null : findEligibleAt(agent, agent.intervalMs, stored)
  const findSchedulingReason = (): ExplorationReason => {
    if (agent.tasksWaiting > 0) return 'task_first'
    if (stored?.isSatisfied) return 'nothing_new'
    return canStart('exploration', config.mode, toDemand(hub, config)) ? 'next' : 'no_slot'
  }
  const waiting = findObstacle(agent, hub, config) ??
    findWait(agent, eligibleAt ?? 0, now) ?? { reason: findSchedulingReason(), until: null }
  const isOff = waiting.reason === 'not_enabled' || waiting.reason === 'mode'
  return { agentId: agent.agentId, ...waiting, eligibleAt: isOff ? null : eligibleAt }
}

/** Explains why a task has not started. */
export function explainTask(task: TaskFacts, hub: HubFacts, config: SchedulingConfig): TaskReason {
  if (task.isRunning) return 'at_work'
  if (hub.isPaused) return 'hub_paused'
  const hold = findHold(task)
  if (hold) return hold
  return canStart('inbox', config.mode, toDemand(hub, config)) ? 'starting' : 'no_slot'
}

/** Inputs that decide when an agent can explore again. Times in milliseconds since the epoch. */
interface EligibilityInput {
  agentId: string
  /** End of the last exploration; 0 when the agent never explored. */
  lastExploredAt: number
  /** End of the last activation of any kind; 0 when the agent never ran. */
  lastActivatedAt: number
  intervalMs: number
  /** Failed activations in a row. */
  failures: number
}

/** Returns whether an agent has failed so often in a row that it waits for the maximum backoff. */
export const isCircuitOpen = (failures: number): boolean =>
  failures >= explorationScheduling.failuresMax

/**
 * Returns when the agent is eligible next: an interval after its last exploration, whatever else it does
 * meanwhile. After a failure of any activation it waits for the backoff, too: the interval, doubled with
 * every failure in a row. An agent that failed is never eligible earlier than one that didn't, however
 * stale it is.
 */
export function computeEligibleAt(input: EligibilityInput): number {
  const { lastExploredAt, lastActivatedAt, intervalMs, failures } = input
  const next = lastExploredAt === 0 ? 0 : lastExploredAt + intervalMs
  if (failures === 0 || lastActivatedAt === 0) return next
  return Math.max(next, lastActivatedAt + computeWait(intervalMs, failures, jitterOf(input)))
}

/**
 * Returns the wait before the next exploration, in milliseconds.
 *
 * @param jitter 0 to 1; spreads agents that failed together
 */
export function computeWait(intervalMs: number, failures: number, jitter: number): number {
  if (failures === 0) return intervalMs
  const longest = Math.max(intervalMs, explorationScheduling.backOffMsMax)
  const doubled = isCircuitOpen(failures) ? longest : Math.min(longest, intervalMs * 2 ** failures)
  return Math.round(Math.min(longest, doubled * (1 + explorationScheduling.backOffJitter * jitter)))
}

/** Returns a jitter from 0 to 1, hashed from the input so that a rebuilt index gets the same time. */
function jitterOf({ agentId, lastActivatedAt }: EligibilityInput): number {
  let hash = 0x811c9dc5
  for (const char of `${agentId}:${lastActivatedAt}`) {
    hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  }
  return (hash >>> 0) / 2 ** 32
}

/** How the hub divides its capacity between tasks and exploration. */
export type SchedulingMode = 'notification' | 'exploration' | 'hybrid'

/** Running activations of each class, and whether activations of each class wait. */
interface Demand {
  capacity: number
  runningInbox: number
  runningExploration: number
  isInboxWaiting: boolean
  isExplorationWaiting: boolean
}

const floors: Record<SchedulingMode, number> = {
  notification: 0,
  hybrid: explorationScheduling.explorationFloor,
  exploration: explorationScheduling.explorationFloorHigh,
}

/**
 * Returns the slots reserved for exploration while tasks wait. With two or more slots each class has
 * at least one, so that neither starves the other; a hub with one slot runs tasks first.
 */
export function explorationFloor(mode: SchedulingMode, capacity: number): number {
  if (mode === 'notification' || capacity < 2) return 0
  return Math.min(capacity - 1, Math.max(1, Math.round(capacity * floors[mode])))
}

/**
 * Returns whether an activation of the class can start. Work-conserving: a class can use the slots
 * reserved for the other class while that class has none waiting.
 */
export function canStart(
  activationClass: 'inbox' | 'exploration',
  mode: SchedulingMode,
  demand: Demand,
): boolean {
  const { capacity, runningInbox, runningExploration } = demand
  if (runningInbox + runningExploration >= capacity) return false
  const floor = explorationFloor(mode, capacity)
  if (activationClass === 'inbox')
    return !demand.isExplorationWaiting || runningInbox < capacity - floor
  if (mode === 'notification') return false
  return !demand.isInboxWaiting || runningExploration < floor
}
