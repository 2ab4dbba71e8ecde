import type {
  ExplorationView,
  SchedulerApi,
  SchedulerView,
  TaskFacts,
  TaskReason,
} from '../../agents/contract/agents'
import type { Answers } from '../../shared/db/batch'
import type { ExplorationBudget } from '../activations/admission-queries'
import type {
  AgentPageRequest,
  AgentRow,
  boardStatements,
  HubState,
  Lease,
  WaitingTask,
} from './queries'

/** An agent, and whether its budgets pay for its explorations. */
export interface PaidAgent extends AgentRow {
  isThrottled: boolean
  /** The budget that pauses them; null when none does, or none pays. */
  pausedBy: ExplorationBudget | null
}

/** State of the scheduler: what runs, what waits, and why. */
export interface Board {
  hub: HubState
  /** Null when the scheduler does not respond: then only the reasons are missing. */
  view: SchedulerView | null
  tasks: (WaitingTask & { reason: TaskReason | null })[]
  leases: Lease[]
  agents: (PaidAgent & { exploration: ExplorationView | null })[]
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
  const agents = addPauses(answers.agents.slice(0, page.limit), answers.budgets)
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

/** Adds to an agent which budget pauses its explorations, if one does, of those that pay for them. */
export function addPause(agent: AgentRow, budgets: ExplorationBudget[]): PaidAgent {
  const isPaid = agent.intervalMs === null || budgets.some(({ canPay }) => canPay)
  if (isPaid) return { ...agent, isThrottled: false, pausedBy: null }
  const pausedBy =
    budgets.find(({ isShort }) => isShort) ?? budgets.find(({ isThrottled }) => isThrottled)
  return { ...agent, isThrottled: true, pausedBy: pausedBy ?? null }
}

function addPauses(agents: AgentRow[], budgets: ExplorationBudget[]): PaidAgent[] {
  const byAgent = Map.groupBy(budgets, ({ agentId }) => agentId)
  return agents.map((agent) => addPause(agent, byAgent.get(agent.id) ?? []))
}

/** A task whose agent nothing holds back, to ask the scheduler about a slot alone. */
export const freeTask: TaskFacts = {
  isRunning: false,
  isPaused: false,
  isStopped: false,
  awaitsProvider: false,
}

/** Returns the question to the scheduler about these agents and tasks. */
export const toQuestion = (hub: HubState, agents: PaidAgent[], tasks: TaskFacts[]) => {
  const { oldestTaskAt: _oldest, tasksWaiting: _tasks, ...state } = hub
  return {
    hub: state,
    agents: agents.map(({ id, name: _name, pausedBy: _budget, ...facts }) => ({
      agentId: id,
      ...facts,
    })),
    tasks: tasks.map(({ isRunning, isPaused, isStopped, awaitsProvider }) => ({
      ...{ isRunning, isPaused, isStopped, awaitsProvider },
    })),
  }
}

/** Returns median and 95th percentile; null for an empty list. */
function computeStartDelays(waits: number[]): Board['starts'] {
  const sorted = waits.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return sorted.length === 0 ? null : { medianMs: at(0.5), p95Ms: at(0.95) }
}
