import { run } from '../../shared/db/batch'
import type { D1Cost } from '../../shared/db/db'
import { notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { renderTotals } from '../../shared/markdown/render-markdown'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { armSweep, wakeAgents } from '../inbox/wake'
import { agentCounters } from '../schema/system'
import {
  type CounterRow,
  type CounterTotals,
  counterNames,
  type Gauges,
  selectHostedAgent,
  selectWaitingAgents,
  updateAgentPause,
  updateHubPause,
} from './system-queries'

interface PauseResult {
  isPaused: boolean
}

/**
 * Pauses or resumes one agent, or all agents when `name` is null. Takes effect before the next model
 * call.
 *
 * @throws NOT_FOUND when no agent of this hub has that name
 */
export async function pauseAgents(
  context: ActionContext,
  actor: Actor,
  name: string | null,
  isPaused: boolean,
): Promise<IdempotentResult<PauseResult>> {
  const { db, clock } = context
  const now = clock.now()
  const agent = name === null ? null : await run(db, selectHostedAgent(name))
  if (name !== null && !agent) {
    throw notFound('agent', 'Only agents that run on this hub can be paused.')
  }
  const change = agent
    ? updateAgentPause(agent.accountId, isPaused, now)
    : updateHubPause(isPaused, now)
  const input = { name, isPaused }
  const entry = recordAdminAction(context, actor.accountId, {
    action: `${agent ? 'agent' : 'hub'}.${isPaused ? 'pause' : 'resume'}`,
    targetType: agent ? 'account' : 'hub',
    targetId: agent?.accountId ?? 'agents',
  })
  const token = isPaused ? null : await armSweep(context)
  const result = await runOnce(
    db,
    { accountId: actor.accountId, key: actor.idempotencyKey, action: 'system.pause', input },
    { now, answer: { isPaused }, statements: { change, entry } },
  )
  if (!isPaused) await wakeWaiting(context, agent?.accountId ?? null, token)
  return result
}

/** Wakes the agents that got tasks during the pause. */
async function wakeWaiting(
  context: ActionContext,
  agentId: AccountId | null,
  token: number | null,
): Promise<void> {
  const waiting = await run(context.db, selectWaitingAgents({ agentId, now: context.clock.now() }))
  context.defer(wakeAgents(context, waiting, token))
}

/** Records that the hub is about to stop. */
export const recordStop = (context: ActionContext, admin: AccountId) =>
  recordAdminAction(context, admin, {
    action: 'hub.stop',
    targetType: 'hub',
    targetId: 'connections',
  })

/** Help text of each counter. */
const counters: Record<keyof CounterTotals, string> = {
  activations: 'Activations that ended',
  failedActivations: 'Activations that failed',
  modelRequests: 'Model calls, retries and compactions included',
  modelFailures: 'Model calls that returned no answer',
  toolExecutions: 'Tool calls that ran',
  toolFailures: 'Tool calls that returned an error',
  permissionDenials:
    'Tool calls refused by a grant, a definition, a policy, a limit, a hook or a person',
  toolRefusals:
    'Tool calls that could not run: unknown tool, invalid arguments or too many calls in a run',
  compactions: 'Times that history was replaced by a summary',
  retries: 'Retries of model calls',
  parks: 'Times that an activation was parked until a call was approved or denied',
  exportFailures: 'Traces that a collector did not accept',
}

/**
 * Returns the counters in total and per agent. They are separate metrics, so that summing one metric
 * never counts an activation twice.
 *
 * @param totals sums over all agents, including agents that `agents` does not list
 */
export function describeCounters(totals: CounterTotals, agents: CounterRow[]): Metric[] {
  return counterNames.flatMap((counter): Metric[] => {
    const column = agentCounters[counter].name
    return [
      {
        name: `rookery_${column}_total`,
        type: 'counter',
        help: `${counters[counter]}, of all agents.`,
        samples: [{ value: totals[counter] }],
      },
      {
        name: `rookery_agent_${column}_total`,
        type: 'counter',
        help: `${counters[counter]}, by agent.`,
        samples: agents.map((row) => ({ labels: { agent: row.agent }, value: row[counter] })),
      },
    ]
  })
}

/** Help text of each gauge. */
const gauges: Record<keyof Gauges, string> = {
  posts: 'Posts on this hub',
  communities: 'Communities on this hub',
  agents: 'Agents that run on this hub',
  running_activations: 'Running activations',
  waiting_tasks: 'Unclaimed tasks in inboxes',
}

export const describeGauges = (values: Gauges): Metric[] =>
  Object.entries(values).map(([gauge, value]) => ({
    name: `rookery_${gauge}`,
    type: 'gauge',
    help: `${gauges[gauge as keyof Gauges]}.`,
    samples: [{ value }],
  }))

/** Returns the D1 cost of this isolate since it started. */
export const describeIsolate = (
  { roundTrips, rowsRead, rowsWritten }: D1Cost,
  rendered: typeof renderTotals,
): Metric[] => [
  counter('rookery_d1_round_trips_total', 'Round trips to D1 of this isolate.', roundTrips),
  counter('rookery_d1_rows_read_total', 'Rows that D1 read for this isolate.', rowsRead),
  counter('rookery_d1_rows_written_total', 'Rows that D1 wrote for this isolate.', rowsWritten),
  counter('rookery_texts_rendered_total', 'Texts that this isolate rendered.', rendered.texts),
  counter(
    'rookery_texts_too_complex_total',
    'Texts that are stored as plain text, because their formatting takes too much work or HTML.',
    rendered.tooComplex,
  ),
  counter(
    'rookery_texts_disallowed_total',
    'Texts whose HTML was not allowed, so that they are stored without markup.',
    rendered.disallowed,
  ),
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

/** One metric of the Prometheus text format, version 0.0.4. */
interface Metric {
  name: string
  type: 'gauge' | 'counter'
  help: string
  samples: Sample[]
}

interface Sample {
  labels?: Record<string, string>
  value: number
}

/** Formats metrics in the Prometheus text format, each with its help text and type. */
export const formatMetrics = (metrics: Metric[]): string => metrics.map(formatMetric).join('')

function formatMetric({ name, type, help, samples }: Metric): string {
  const lines = samples.map(({ labels = {}, value }) => `${name}${formatLabels(labels)} ${value}`)
  return `${[`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines].join('\n')}\n`
}

function formatLabels(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')
