import { getTableColumns, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { ArchivedRecords } from '../archive/archive-view'
import { accounts } from '../schema/accounts'
import { archiveFiles } from '../schema/archive'
import { usageEvents } from '../schema/budgets'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'

const u = alias(usageEvents, 'u')
const a = alias(accounts, 'a')

const callFields = {
  at: u.createdAt,
  agentName: a.name,
  activationId: u.activationId,
  call: u.call,
  executor: u.executor,
  model: u.model,
  task: u.task,
  inputTokens: u.inputTokens,
  cachedTokens: u.cachedTokens,
  outputTokens: u.outputTokens,
  reasoningTokens: u.reasoningTokens,
  costMicrousd: u.costMicrousd,
  isPriced: u.isPriced,
  isEstimated: u.isEstimated,
  durationMs: u.durationMs,
}

/** A model call of a file of the archive: who asked and where is not among it, because both can be private. */
export type ArchivedCall = RowOf<typeof callFields>

const columns = Object.entries(getTableColumns(usageEvents))
const columnNames = sql.join(
  columns.map(([, column]) => sql.identifier(column.name)),
  sql`, `,
)
const recordValues = sql.join(
  columns.map(([name]) => sql`r.value ->> ${sql.raw(`'${name}'`)}`),
  sql`, `,
)

const selectCalls = prepare((v: Params<ViewerValues & ArchivedRecords>) =>
  manySql(
    callFields,
    sql`FROM ${usageEvents} ${u} JOIN ${accounts} ${a} ON ${a.id} = ${u.accountId}
      WHERE EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin')
      ORDER BY ${u.createdAt}, ${u.activationId}, ${u.call}`,
    sql`${viewerCte(v)}, ${usageEvents} (${columnNames}) AS (
      SELECT ${recordValues} FROM json_each(${v.json}) r
      WHERE EXISTS (SELECT 1 FROM ${archiveFiles} WHERE ${archiveFiles.key} = ${v.key}))`,
  ),
)

/** Selects the model calls of a file of the archive, for admins; a file that was never named has none. */
export const selectArchivedCalls = (
  { credential, now }: { credential: Credential | null; now: number },
  file: ArchivedRecords,
): Statement<ArchivedCall[]> => selectCalls({ ...viewerValues(credential, now), ...file })
