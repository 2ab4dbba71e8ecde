import type { RunRow } from '../../hub/activations/run-list-queries'
import { toIso } from '../../shared/format'
import { formatCsv } from '../parts/csv'

const headers = [
  ...['started_utc', 'finished_utc', 'agent', 'task', 'requesters', 'post_title', 'outcome'],
  ...['model', 'model_calls', 'tokens', 'cost_usd', 'is_priced', 'id'],
]

/** Returns runs as CSV, newest first. */
export const formatRunsCsv = (rows: RunRow[]): string =>
  formatCsv([
    headers,
    ...rows.map((row) => [
      toIso(row.startedAt),
      row.finishedAt === null ? null : toIso(row.finishedAt),
      row.agentName,
      row.task,
      row.requesters.join(' '),
      row.postTitle,
      row.outcome ?? row.state,
      row.model,
      row.modelCalls,
      row.tokens,
      (row.costMicrousd / 1_000_000).toFixed(6),
      row.isPriced ? 'yes' : 'no',
      row.id,
    ]),
  ])
