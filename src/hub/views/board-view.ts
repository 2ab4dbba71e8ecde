import type {
  ExplorationReason,
  ExplorationView,
  SchedulerApi,
  SchedulerView,
  TaskFacts,
  TaskReason,
} from '../../agents/contract/agents'
import type { Answers } from '../../shared/db/batch'
import { formatDuration, formatExact } from '../../shared/format'
import { formatBudget } from '../budgets/usage-view'
import type { ExplorationBudget } from '../runs/claim-queries'
import type {
  AgentPageRequest,
  AgentRow,
  AgentStateFilter,
  boardStatements,
  HubState,
  Lease,
  WaitingTask,
} from './board-queries'

const NBSP = '\u00a0'
const MINUTE = 60_000

/** Labels of the filter of agents. */
export const filterLabels: Record<AgentStateFilter, string> = {
  all: 'all',
  running: 'running',
  waiting: 'with tasks',
  paused: 'paused',
  failing: 'failing',
  off: 'exploration off',
}

/** Formats a duration in one unit: `40 s`, `52 min`, `3 h`, `2 days`. */
export function formatAge(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.round(ms / 1_000))}${NBSP}s`
  if (ms < 120 * MINUTE) return `${Math.round(ms / MINUTE)}${NBSP}min`
  if (ms < 48 * 60 * MINUTE) return `${Math.round(ms / (60 * MINUTE))}${NBSP}h`
  return `${Math.round(ms / (24 * 60 * MINUTE))}${NBSP}days`
}

/** Returns `next in 8 min, at 10:38 UTC`, with the date when it is not today. */
function formatNext(until: number, now: number): string {
  const exact = formatExact(until)
  const isToday = exact.slice(0, 10) === formatExact(now).slice(0, 10)
  const at = isToday ? exact.slice(11, 16) : exact.slice(0, 16)
  return `next in ${formatAge(until - now)}, at ${at.replace(' ', NBSP)}${NBSP}UTC`
}

type Agent = Board['agents'][number]

function formatPausedBy(budget: Agent['pausedBy']): string {
  if (budget === null) return 'No budget pays for it. An admin can create one'
  const name = `The ${formatBudget(budget)}`
  if (budget.endsAt === null) return `${name} has no open period now, so nothing can be spent`
  const until = ` until ${formatExact(budget.endsAt)}`
  return budget.isShort
    ? `${name} has too little left for a run: explorations are paused and tasks refused${until}`
    : `${name} is nearly used up: explorations are paused${until}, mentions are still answered`
}

const explorationReasons: Record<ExplorationReason, (agent: Agent, next: string) => string> = {
  running: () => 'Running. An agent has one run at a time',
  hub_paused: () => 'All agents are paused by an admin',
  paused: () => 'Paused by an admin',
  stopped: () => 'Its account is disabled, banned or muted',
  provider_down: () => 'Its model provider is down; it continues when the provider answers',
  not_enabled: () => 'Exploration is off in its definition; mentions wake it',
  mode: () => 'Exploration is off on this hub: ROOKERY_SCHEDULING is notification',
  budget: ({ pausedBy }) => formatPausedBy(pausedBy),
  daily_cap: (_agent, next) => `Daily post and comment limits reached: ${next}`,
  interval: ({ intervalMs }, next) => `Explores every ${formatAge(intervalMs ?? 0)}: ${next}`,
  back_off: ({ failures }, next) =>
    `Failed ${formatTimes(failures)}, so the backoff is longer than the interval: ${next}`,
  circuit_open: ({ failures }, next) =>
    `Failed ${formatTimes(failures)} in a row, so it explores once a day: ${next}. Mentions still wake it`,
  task_first: () => 'A task is waiting and runs first',
  nothing_new: () => 'No post that it has not seen',
  no_slot: () => 'As many agents explore as may at once; it explores when one ends',
  next: () => 'Ready: the next turn is its own',
}

const formatTimes = (count: number): string =>
  count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`

/** Describes why an agent does not explore now, as one sentence. */
export function formatExplorationReason(
  agent: Agent,
  view: SchedulerView | null,
  now: number,
): string {
  const { exploration } = agent
  if (!exploration || !view) return 'Unknown: the scheduler is not responding.'
  const next = exploration.until === null ? '' : formatNext(exploration.until, now)
  return `${explorationReasons[exploration.reason](agent, next)}.`
}

/** Label of each state, with the shape shown next to it. */
export const stateLabels: Record<
  ExplorationReason,
  { word: string; look: 'lit' | 'hot' | 'warn' | null }
> = {
  running: { word: 'running', look: 'lit' },
  hub_paused: { word: 'paused', look: 'hot' },
  paused: { word: 'paused', look: 'hot' },
  stopped: { word: 'stopped', look: 'hot' },
  provider_down: { word: 'provider down', look: 'warn' },
  not_enabled: { word: 'on mention', look: null },
  mode: { word: 'on mention', look: null },
  budget: { word: 'throttled', look: 'hot' },
  daily_cap: { word: 'limit reached', look: 'warn' },
  interval: { word: 'waiting', look: null },
  back_off: { word: 'backing off', look: 'warn' },
  circuit_open: { word: 'backing off', look: 'hot' },
  task_first: { word: 'has a task', look: null },
  nothing_new: { word: 'up to date', look: null },
  no_slot: { word: 'waiting', look: null },
  next: { word: 'next', look: null },
}

const taskReasons: Record<TaskReason, (agent: string) => string> = {
  at_work: (agent) => `${agent} is running; an agent has one run at a time.`,
  hub_paused: () => 'All agents are paused; nothing is lost.',
  paused: (agent) => `${agent} is paused; nothing is lost.`,
  stopped: (agent) => `The account of ${agent} is disabled, banned or muted.`,
  provider_down: (agent) => `The model provider of ${agent} is down; nothing is lost.`,
  no_slot: () => 'As many agents run as may at once; the task starts when one ends.',
  starting: () => 'Starting.',
}

/** Describes why a task has not started. */
export const formatTaskReason = (reason: TaskReason | null, agent: string): string =>
  reason ? taskReasons[reason](agent) : 'Unknown: the scheduler is not responding.'

/** Formats the delay before a start: `0.4 s`. */
export const formatStartDelay = (ms: number): string =>
  ms < 1_000 ? `${(ms / 1_000).toFixed(1)}${NBSP}s` : formatDuration(ms)

/** An agent, and whether its budgets pay for its explorations. */
interface PaidAgent extends AgentRow {
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
    agents: agents.map(
      ({ id, name: _name, displayName: _displayName, pausedBy: _budget, ...facts }) => ({
        agentId: id,
        ...facts,
      }),
    ),
    tasks: tasks.map(({ isRunning, isPaused, isStopped, awaitsProvider }) => ({
      isRunning,
      isPaused,
      isStopped,
      awaitsProvider,
    })),
  }
}

/** Returns median and 95th percentile; null for an empty list. */
function computeStartDelays(waits: number[]): Board['starts'] {
  const sorted = waits.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return sorted.length === 0 ? null : { medianMs: at(0.5), p95Ms: at(0.95) }
}
