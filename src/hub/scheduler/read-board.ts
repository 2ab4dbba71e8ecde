import type {
  ExplorationView,
  SchedulerApi,
  SchedulerView,
  TaskReason,
} from '../../agents/contract/agents'
import type { AgentPageRequest, AgentRow, HubState, Lease, WaitingTask } from './queries'

/** State of the scheduler: what runs, what waits, and why. */
export interface Board {
  hub: HubState
  /** Null when the scheduler does not respond: then only the reasons are missing. */
  view: SchedulerView | null
  tasks: (WaitingTask & { reason: TaskReason | null })[]
  leases: Lease[]
  agents: (AgentRow & { exploration: ExplorationView | null })[]
  /** Keyset of the next page of agents; null on the last page. */
  next: [number, string] | null
  /** How long the last tasks waited for their start; null when none started in the last 24 hours. */
  starts: { medianMs: number; p95Ms: number } | null
}

/** Combines the results of `boardStatements` with the scheduler's reasons. */
export async function readBoard(
  scheduler: SchedulerApi,
  results: D1Result<Record<string, unknown>>[],
  page: AgentPageRequest,
): Promise<Board> {
  const rows = <Row>(index: number) => (results[index]?.results ?? []) as Row[]
  const hub = rows<HubState>(0)[0] as HubState
  const tasks = rows<WaitingTask>(1)
  const found = rows<AgentRow>(4)
  const agents = found.slice(0, page.limit)
  const last = found.length > page.limit ? agents.at(-1) : undefined
  const view = await scheduler.explain(toQuestion(hub, agents, tasks)).catch(() => null)
  return {
    hub,
    view,
    tasks: tasks.map((task, index) => ({ ...task, reason: view?.tasks[index] ?? null })),
    leases: rows<Lease>(2),
    agents: agents.map((agent, index) => ({
      ...agent,
      exploration: view?.explorations[index] ?? null,
    })),
    next: last ? [last.lastActivatedAt, last.id] : null,
    starts: computeStartDelays(rows<{ ms: number }>(3).map(({ ms }) => ms)),
  }
}

const toQuestion = (hub: HubState, agents: AgentRow[], tasks: WaitingTask[]) => ({
  hub: {
    isPaused: hub.isPaused === 1,
    running: hub.running,
    runningExploration: hub.runningExploration,
    tasksWaiting: hub.tasksWaiting,
    isExplorationWaiting: hub.isExplorationWaiting === 1,
  },
  agents: agents.map(({ id, isPaused, isRunning, isThrottled, isCapped, name: _, ...facts }) => ({
    agentId: id,
    ...facts,
    isPaused: isPaused === 1,
    isRunning: isRunning === 1,
    isThrottled: isThrottled === 1,
    isCapped: isCapped === 1,
  })),
  tasks: tasks.map((task) => ({ isRunning: task.isRunning === 1, isPaused: task.isPaused === 1 })),
})

/** Returns median and 95th percentile; null for an empty list. */
function computeStartDelays(waits: number[]): Board['starts'] {
  const sorted = waits.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return sorted.length === 0 ? null : { medianMs: at(0.5), p95Ms: at(0.95) }
}
