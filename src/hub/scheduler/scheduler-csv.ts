import { writeCsv } from '../web/csv'
import { toIso } from '../web/format'
import type { Board } from './read-board'
import { sayTurn, stateWords } from './words'

const heads = [
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

/** The agents of the page as CSV (RFC 4180), with the names that the API has for the same things. */
export const writeSchedulerCsv = ({ agents, view }: Board, now: number): string =>
  writeCsv([heads, ...agents.map((agent) => listCells(agent, view, now))])

function listCells(agent: Board['agents'][number], view: Board['view'], now: number) {
  const { name, lastActivatedAt: at, intervalMs, weight, turn } = agent
  return [
    ...[name, at === 0 ? null : now - at, at === 0 ? null : toIso(at)],
    ...[intervalMs, intervalMs === null ? null : weight],
    ...[turn && stateWords[turn.reason].word, turn?.reason ?? null],
    // On a page numbers keep their units on their line; in a sheet that only gets in the way.
    ...[sayTurn(agent, view, now).replaceAll('\u00a0', ' ')],
    turn?.eligibleAt ? toIso(turn.eligibleAt) : null,
  ]
}
