import type { SchedulerView, TaskReason, TurnReason } from '../../agents/contract'
import { formatDuration, formatExact } from '../web/format'
import type { Board } from './read-board'

const NBSP = '\u00a0'
const MINUTE = 60_000

/** `40 s`, `52 min`, `3 h`, `2 days`: how long ago or ahead, in one unit. */
export function sayAge(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.round(ms / 1_000))}${NBSP}s`
  if (ms < 120 * MINUTE) return `${Math.round(ms / MINUTE)}${NBSP}min`
  if (ms < 48 * 60 * MINUTE) return `${Math.round(ms / (60 * MINUTE))}${NBSP}h`
  return `${Math.round(ms / (24 * 60 * MINUTE))}${NBSP}days`
}

/** `free in 8 min, at 10:38 UTC`; a day that is not today's is said too. */
function sayFree(until: number, now: number): string {
  const exact = formatExact(until)
  const isToday = exact.slice(0, 10) === formatExact(now).slice(0, 10)
  const at = isToday ? exact.slice(11, 16) : exact.slice(0, 16)
  return `free in ${sayAge(until - now)}, at ${at.replace(' ', NBSP)}${NBSP}UTC`
}

type Agent = Board['agents'][number]

const turnWords: Record<TurnReason, (agent: Agent, free: string, view: SchedulerView) => string> = {
  running: () => 'At work. One thing at a time for each agent',
  hub_paused: () => 'All agents are paused by an admin',
  paused: () => 'Paused by an admin',
  not_enabled: () => 'Its definition gives it no turns of its own; who calls it wakes it',
  mode: () => 'This hub gives no turns: ROOKERY_SCHEDULING is notification',
  budget: () =>
    'A budget that it spends from is nearly used up: own turns are paused, mentions are answered',
  daily_cap: (_agent, free) => `It has written all that it may today: ${free}`,
  interval: ({ intervalMs }, free) => `${sayAge(intervalMs ?? 0)} between turns: ${free}`,
  back_off: ({ failures }, free) =>
    `Failed ${sayTimes(failures)}, so it waits longer than its interval: ${free}`,
  circuit_open: ({ failures }, free) =>
    `Failed ${sayTimes(failures)} in a row, so it looks around once a day: ${free}. A mention still gets a try`,
  task_first: () => 'A task waits for it and goes first',
  nothing_new: () => 'It has seen what there is to see and waits for news',
  no_slot: (_agent, _free, { capacity }) =>
    `No slot of ${capacity} is free for own turns; its turn comes when one is`,
  next: () => 'Nothing holds it back: its turn comes with the next one given',
}

const sayTimes = (count: number): string =>
  count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`

/** Why an agent has no turn now, as one sentence. */
export function sayTurn(agent: Agent, view: SchedulerView | null, now: number): string {
  const { turn } = agent
  if (!turn || !view) return 'The scheduler does not answer; nothing is known of its turn.'
  const free = turn.until === null ? '' : sayFree(turn.until, now)
  return `${turnWords[turn.reason](agent, free, view)}.`
}

/** One or two words, with the shape that goes with them. */
export const stateWords: Record<TurnReason, { word: string; look: 'lit' | 'hot' | 'warn' | null }> =
  {
    running: { word: 'running', look: 'lit' },
    hub_paused: { word: 'paused', look: 'hot' },
    paused: { word: 'paused', look: 'hot' },
    not_enabled: { word: 'when called', look: null },
    mode: { word: 'when called', look: null },
    budget: { word: 'held back', look: 'hot' },
    daily_cap: { word: 'held back', look: 'warn' },
    interval: { word: 'waits', look: null },
    back_off: { word: 'waits longer', look: 'warn' },
    circuit_open: { word: 'waits longer', look: 'hot' },
    task_first: { word: 'has a task', look: null },
    nothing_new: { word: 'up to date', look: null },
    no_slot: { word: 'waits', look: null },
    next: { word: 'next', look: null },
  }

const taskReasons: Record<TaskReason, (agent: string) => string> = {
  at_work: (agent) => `${agent} is at work; one thing at a time for each agent.`,
  hub_paused: () => 'All agents are paused; nothing is lost.',
  paused: (agent) => `${agent} is paused; nothing is lost.`,
  no_slot: () => 'All slots are taken; it starts when one is free.',
  starting: () => 'It starts in a moment.',
}

/** Why a task has not been begun. */
export const sayTaskReason = (reason: TaskReason | null, agent: string): string =>
  reason ? taskReasons[reason](agent) : 'The scheduler does not answer.'

/** `0.4 s`. */
export const sayStart = (ms: number): string =>
  ms < 1_000 ? `${(ms / 1_000).toFixed(1)}${NBSP}s` : formatDuration(ms)
