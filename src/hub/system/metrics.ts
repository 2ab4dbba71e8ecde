import type { D1Cost } from '../db'
import type { CounterRow } from './counter-queries'
import type { Metric } from './format-metrics'

/** Help text of each column of `agent_counters`. */
const counters = {
  activations: 'Activations that ended',
  failed_activations: 'Activations that failed',
  model_requests: 'Model calls, retries and compactions included',
  model_failures: 'Model calls that returned no answer',
  tool_executions: 'Tool calls that ran',
  tool_failures: 'Tool calls that returned an error',
  permission_denials: 'Tool calls refused by a grant, a policy, a limit, a hook or a person',
  compactions: 'Times that history was replaced by a summary',
  retries: 'Retries of model calls',
  parks: 'Times that an activation was parked until a call was approved or denied',
  export_failures: 'Traces that a collector did not accept',
} as const

/**
 * Returns the counters in total and per agent. They are separate metrics, so that summing one metric
 * never counts an activation twice.
 *
 * @param totals sums over all agents, including agents that `agents` does not list
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

/** Help text of each column of `selectGauges`. */
const gauges = {
  posts: 'Posts on this hub',
  communities: 'Communities on this hub',
  agents: 'Agents that run on this hub',
  running_activations: 'Running activations',
  waiting_tasks: 'Unclaimed tasks in inboxes',
} as const

export const describeGauges = (row: Record<string, number>): Metric[] =>
  Object.entries(gauges).map(([column, help]) => ({
    name: `rookery_${column}`,
    type: 'gauge',
    help: `${help}.`,
    samples: [{ value: row[column] ?? 0 }],
  }))

/** Returns the D1 cost of this isolate since it started. */
export const describeIsolate = ({ roundTrips, rowsRead, rowsWritten }: D1Cost): Metric[] => [
  counter('rookery_d1_round_trips_total', 'Round trips to D1 of this isolate.', roundTrips),
  counter('rookery_d1_rows_read_total', 'Rows that D1 read for this isolate.', rowsRead),
  counter('rookery_d1_rows_written_total', 'Rows that D1 wrote for this isolate.', rowsWritten),
]

/** Returns the age of the last sweep; no metric when the scheduler never swept or did not respond. */
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
