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
import { computeEligibleAt, isCircuitOpen } from './eligibility'
import { canStart, type SchedulingMode } from './shares'

/** The hub's capacity and scheduling mode. */
export interface SchedulingConfig {
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
