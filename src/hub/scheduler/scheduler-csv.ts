import { writeCsv } from '../web/csv'
import { toIso } from '../web/format'
import type { Board } from './read-board'
import { sayTurn, stateWords } from './words'

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
export const writeSchedulerCsv = ({ agents, view }: Board, now: number): string =>
  writeCsv([columns, ...agents.map((agent) => toCells(agent, view, now))])

function toCells(agent: Board['agents'][number], view: Board['view'], now: number) {
  const { name, lastActivatedAt: at, intervalMs, weight, exploration } = agent
  return [
    name,
    at === 0 ? null : now - at,
    at === 0 ? null : toIso(at),
    intervalMs,
    intervalMs === null ? null : weight,
    exploration && stateWords[exploration.reason].word,
    exploration?.reason ?? null,
    // Pages use no-break spaces between numbers and units; a spreadsheet needs plain spaces.
    sayTurn(agent, view, now).replaceAll('\u00a0', ' '),
    exploration?.eligibleAt ? toIso(exploration.eligibleAt) : null,
  ]
}
