import { turns } from '../../config'

/** How the hub shares its capacity between tasks and looking around (S3). */
export type SchedulingMode = 'notification' | 'exploration' | 'hybrid'

/** Running activations of each class, and whether more of each class could start now. */
export interface Demand {
  capacity: number
  runningInbox: number
  runningExploration: number
  doesInboxWait: boolean
  doesExplorationWait: boolean
}

const floors: Record<SchedulingMode, number> = {
  notification: 0,
  hybrid: turns.explorationFloor,
  exploration: turns.explorationFloorHigh,
}

/**
 * Slots that looking around keeps while tasks wait. From two slots on each class keeps one, so that
 * neither can starve the other; a hub with one slot answers first.
 */
export function explorationFloor(mode: SchedulingMode, capacity: number): number {
  if (mode === 'notification' || capacity < 2) return 0
  return Math.min(capacity - 1, Math.max(1, Math.round(capacity * floors[mode])))
}

/**
 * Whether an activation of the class may start. Work-conserving: what one class keeps is lent to the
 * other while nobody of its own waits.
 */
export function mayStart(
  what: 'inbox' | 'exploration',
  mode: SchedulingMode,
  demand: Demand,
): boolean {
  const { capacity, runningInbox, runningExploration } = demand
  if (runningInbox + runningExploration >= capacity) return false
  const floor = explorationFloor(mode, capacity)
  if (what === 'inbox') return !demand.doesExplorationWait || runningInbox < capacity - floor
  if (mode === 'notification') return false
  return !demand.doesInboxWait || runningExploration < floor
}
