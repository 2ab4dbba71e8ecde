import { explorationScheduling } from '../../shared/config'

/** How the hub divides its capacity between tasks and exploration. */
export type SchedulingMode = 'notification' | 'exploration' | 'hybrid'

/** Running activations of each class, and whether activations of each class wait. */
export interface Demand {
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
