import type { HubFacts, TaskFacts, TaskReason, TurnFacts, TurnReason, TurnView } from '../contract'
import { computeEligibleAt, isCircuitOpen } from './eligibility'
import { mayStart, type SchedulingMode } from './shares'

/** How the hub's capacity is shared out. */
export interface Room {
  mode: SchedulingMode
  capacity: number
}

/** What the scheduler itself keeps of an agent. */
export interface Stored {
  /** Of its last activation, as far as the scheduler heard. */
  lastAt: number
  eligibleAt: number
  /** It has seen what there is to see, and waits for news. */
  isSatisfied: boolean
}

type Waiting = { reason: TurnReason; until: number | null }

const dayMs = 86_400_000

const demandOf = (hub: HubFacts, { capacity }: Room) => ({
  capacity,
  runningInbox: hub.running - hub.runningExploration,
  runningExploration: hub.runningExploration,
  doesInboxWait: hub.tasksWaiting > 0,
  doesExplorationWait: hub.doesExplorationWait,
})

/** The scheduler's word when it has heard of the last activation, else what follows from the facts. */
function findEligibleAt(agent: TurnFacts, intervalMs: number, stored: Stored | null): number {
  if (stored && stored.lastAt >= agent.lastActivatedAt) return stored.eligibleAt
  return computeEligibleAt({ ...agent, intervalMs })
}

/** What keeps it from any turn until somebody does something. */
function findObstacle(agent: TurnFacts, hub: HubFacts, room: Room): Waiting | null {
  const obstacles: [boolean, TurnReason][] = [
    [agent.isRunning, 'running'],
    [hub.isPaused, 'hub_paused'],
    [agent.isPaused, 'paused'],
    [agent.intervalMs === null || agent.weight === 0, 'not_enabled'],
    [room.mode === 'notification', 'mode'],
    [agent.isThrottled, 'budget'],
  ]
  const found = obstacles.find(([holds]) => holds)
  return found ? { reason: found[1], until: null } : null
}

/** What passes with time: the one that lasts longest is why. */
function findWait(agent: TurnFacts, eligibleAt: number, now: number): Waiting | null {
  const waits: Waiting[] = []
  if (agent.isCapped) waits.push({ reason: 'daily_cap', until: now - (now % dayMs) + dayMs })
  if (eligibleAt > now) {
    const failed = isCircuitOpen(agent.failures) ? 'circuit_open' : 'back_off'
    waits.push({ reason: agent.failures > 0 ? failed : 'interval', until: eligibleAt })
  }
  return waits.sort((a, b) => (b.until ?? 0) - (a.until ?? 0))[0] ?? null
}

/** Why an agent does not look around now, in the order in which the scheduler and LOAD ask (S11). */
export function explainTurn(
  agent: TurnFacts,
  hub: HubFacts,
  room: Room & { stored: Stored | null; now: number },
): TurnView {
  const { stored, now } = room
  const eligibleAt =
    agent.intervalMs === null ? null : findEligibleAt(agent, agent.intervalMs, stored)
  const rest = (): TurnReason => {
    if (agent.tasksWaiting > 0) return 'task_first'
    if (stored?.isSatisfied) return 'nothing_new'
    return mayStart('exploration', room.mode, demandOf(hub, room)) ? 'next' : 'no_slot'
  }
  const why = findObstacle(agent, hub, room) ??
    findWait(agent, eligibleAt ?? 0, now) ?? { reason: rest(), until: null }
  const isOff = why.reason === 'not_enabled' || why.reason === 'mode'
  return { agentId: agent.agentId, ...why, eligibleAt: isOff ? null : eligibleAt }
}

/** Why a task has not been begun. */
export function explainTask(task: TaskFacts, hub: HubFacts, room: Room): TaskReason {
  if (task.isRunning) return 'at_work'
  if (hub.isPaused) return 'hub_paused'
  if (task.isPaused) return 'paused'
  return mayStart('inbox', room.mode, demandOf(hub, room)) ? 'starting' : 'no_slot'
}
