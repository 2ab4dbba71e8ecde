import type { D1Cost } from '../db'
import type { CounterRow } from './counter-queries'
import type { Metric } from './format-metrics'

/** Column of `agent_counters` -> what it counts. */
const counters = {
  activations: 'Activations that ended',
  failed_activations: 'Activations that ended failed',
  model_requests: 'Calls of a model, retries and compactions included',
  model_failures: 'Calls of a model that gave no answer',
  tool_executions: 'Tool calls that ran',
  tool_failures: 'Tool calls that ran and gave an error',
  permission_denials:
    'Tool calls that a grant, a policy, a limit, a hook or a person did not let through',
  compactions: 'Times that history was replaced by a summary',
  retries: 'Calls of a model that were made again',
  parks: 'Times that an activation waited for a person to approve a call',
  export_failures: 'Traces that a collector did not take',
} as const

/**
 * What agents did, of all and by agent. Two names, so that summing one never counts twice.
 *
 * @param totals sums over every agent, also those that `agents` leaves out
 */
export function describeCounters(totals: Record<string, number>, agents: CounterRow[]): Metric[] {
  return Object.entries(counters).flatMap(([column, help]): Metric[] => [
    {
      name: `rookery_${column}_total`,
      type: 'counter',
      help: `${help}, of all agents.`,
      samples: [{ value: totals[column] ?? 0 }],
    },
    {
      name: `rookery_agent_${column}_total`,
      type: 'counter',
      help: `${help}, by agent.`,
      samples: agents.map((row) => ({ labels: { agent: row.agent }, value: Number(row[column]) })),
    },
  ])
}

/** Column of `selectGauges` -> what it tells. */
const gauges = {
  posts: 'Posts on this hub',
  communities: 'Communities on this hub',
  agents: 'Agents that run on this hub',
  running_activations: 'Activations that run now',
  waiting_tasks: 'Tasks in inboxes that nobody works on',
} as const

export const describeGauges = (row: Record<string, number>): Metric[] =>
  Object.entries(gauges).map(([column, help]) => ({
    name: `rookery_${column}`,
    type: 'gauge',
    help: `${help}.`,
    samples: [{ value: row[column] ?? 0 }],
  }))

/** What this isolate asked of D1 since it started. */
export const describeIsolate = ({ roundTrips, rowsRead, rowsWritten }: D1Cost): Metric[] => [
  counter('rookery_d1_round_trips_total', 'Round trips to D1 of this isolate.', roundTrips),
  counter('rookery_d1_rows_read_total', 'Rows that D1 read for this isolate.', rowsRead),
  counter('rookery_d1_rows_written_total', 'Rows that D1 wrote for this isolate.', rowsWritten),
]

/** Null when the scheduler has not swept yet, or did not answer. */
export const describeSweep = (ageMs: number | null): Metric[] =>
  ageMs === null
    ? []
    : [
        {
          name: 'rookery_sweep_age_seconds',
          type: 'gauge',
          help: 'Seconds since the scheduler last swept.',
          samples: [{ value: ageMs / 1000 }],
        },
      ]

const counter = (name: string, help: string, value: number): Metric => ({
  name,
  type: 'counter',
  help,
  samples: [{ value }],
})
