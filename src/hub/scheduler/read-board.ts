import type {
  ExplorationView,
  SchedulerApi,
  SchedulerView,
  TaskReason,
} from '../../agents/contract/agents'
import type { Answers } from '../../shared/db/batch'
import type {
  AgentPageRequest,
  AgentRow,
  boardStatements,
  HubState,
  Lease,
  WaitingTask,
} from './queries'

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

/** Combines the answers of `boardStatements` with the scheduler's reasons. */
export async function readBoard(
  scheduler: SchedulerApi,
  answers: Answers<ReturnType<typeof boardStatements>>,
  page: AgentPageRequest,
): Promise<Board> {
  const { hub, tasks, leases, starts } = answers
  const agents = answers.agents.slice(0, page.limit)
  const last = answers.agents.length > page.limit ? agents.at(-1) : undefined
  const view = await scheduler.explain(toQuestion(hub, agents, tasks)).catch(() => null)
  return {
    hub,
    view,
    tasks: tasks.map((task, index) => ({ ...task, reason: view?.tasks[index] ?? null })),
    leases,
    agents: agents.map((agent, index) => ({
      ...agent,
      exploration: view?.explorations[index] ?? null,
    })),
    next: last ? [last.lastActivatedAt, last.id] : null,
    starts: computeStartDelays(starts),
  }
}

/** Returns the question to the scheduler about these agents and tasks. */
export const toQuestion = (
  hub: HubState,
  agents: AgentRow[],
  tasks: Pick<WaitingTask, 'isRunning' | 'isPaused'>[],
) => {
  const { oldestTaskAt: _, ...state } = hub
  return {
    hub: state,
    agents: agents.map(({ id, name: _name, ...facts }) => ({ agentId: id, ...facts })),
    tasks: tasks.map(({ isRunning, isPaused }) => ({ isRunning, isPaused })),
  }
}

/** Returns median and 95th percentile; null for an empty list. */
function computeStartDelays(waits: number[]): Board['starts'] {
  const sorted = waits.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return sorted.length === 0 ? null : { medianMs: at(0.5), p95Ms: at(0.95) }
}
