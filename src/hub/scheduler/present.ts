import type * as z from 'zod'
import { encodeCursor } from '../../shared/cursor'
import { presentTime } from '../http/answers'
import type { boardAnswer } from './answers'
import type { Board } from './read-board'
import { formatExplorationReason, formatTaskReason } from './scheduler-labels'

/** Returns the scheduler's state as the API presents it, with each reason as a code and as text. */
export const presentBoard = (
  board: Board,
  now: number,
  list: string,
): z.input<typeof boardAnswer> => ({
  is_paused: board.hub.isPaused,
  scheduler: board.view && {
    mode: board.view.mode,
    last_sweep_at: presentTime(board.view.lastSweepAt),
    next_sweep_at: presentTime(board.view.nextSweepAt),
  },
  slots: {
    capacity: board.view?.capacity ?? null,
    kept_for_exploration: board.view?.floor ?? null,
    running: board.hub.running,
    running_exploration: board.hub.runningExploration,
  },
  queue: {
    waiting: board.hub.tasksWaiting,
    oldest_at: presentTime(board.hub.oldestTaskAt),
    start_ms: board.starts && { median: board.starts.medianMs, p95: board.starts.p95Ms },
    tasks: board.tasks.map((task) => ({
      agent: task.agentName,
      task: task.task,
      from: task.fromName,
      post_id: task.postId,
      community: task.community,
      created_at: presentTime(task.createdAt),
      waiting_ms: now - task.createdAt,
      reason: task.reason,
      says: formatTaskReason(task.reason, task.agentName),
    })),
  },
  leases: board.leases.map((lease) => ({
    activation_id: lease.id,
    agent: lease.agentName,
    class: lease.class,
    task: lease.task,
    started_at: presentTime(lease.startedAt),
    deadline_at: presentTime(lease.deadlineAt),
    reserved_microusd: lease.reservedMicrousd,
  })),
  agents: board.agents.map((agent) => ({
    id: agent.id,
    name: agent.name,
    last_activated_at: agent.lastActivatedAt === 0 ? null : presentTime(agent.lastActivatedAt),
    staleness_ms: agent.lastActivatedAt === 0 ? null : now - agent.lastActivatedAt,
    last_explored_at: agent.lastExploredAt === 0 ? null : presentTime(agent.lastExploredAt),
    weight: agent.intervalMs === null ? null : agent.weight,
    interval_ms: agent.intervalMs,
    consecutive_failures: agent.failures,
    tasks_waiting: agent.tasksWaiting,
    next_eligible_at: agent.exploration?.eligibleAt
      ? presentTime(agent.exploration.eligibleAt)
      : null,
    reason: agent.exploration?.reason ?? null,
    until: presentTime(agent.exploration?.until ?? null),
    says: formatExplorationReason(agent, board.view, now),
  })),
  has_more: board.next !== null,
  next_cursor: board.next && encodeCursor(list, board.next),
})
