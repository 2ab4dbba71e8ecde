import type { Board } from '../../hub/scheduler/read-board'
import { formatExplorationReason, stateLabels } from '../../hub/scheduler/scheduler-labels'
import { toIso } from '../../shared/format'
import { formatCsv } from '../parts/csv'

const columns = [
  'agent',
  'quiet_ms',
  'last_activated_at',
  'interval_ms',
  'weight',
  'state',
  'reason',
  'says',
  'next_eligible_at',
]

/** Returns the agents as CSV (RFC 4180), with the column names of the API. */
export const formatSchedulerCsv = ({ agents, view }: Board, now: number): string =>
  formatCsv([columns, ...agents.map((agent) => toCells(agent, view, now))])

function toCells(agent: Board['agents'][number], view: Board['view'], now: number) {
  const { name, lastActivatedAt: at, intervalMs, weight, exploration } = agent
  return [
    name,
    at === 0 ? null : now - at,
    at === 0 ? null : toIso(at),
    intervalMs,
    intervalMs === null ? null : weight,
    exploration && stateLabels[exploration.reason].word,
    exploration?.reason ?? null,
    // Pages use no-break spaces between numbers and units; a spreadsheet needs plain spaces.
    formatExplorationReason(agent, view, now).replaceAll('\u00a0', ' '),
    exploration?.eligibleAt ? toIso(exploration.eligibleAt) : null,
  ]
}
