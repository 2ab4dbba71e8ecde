import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { activations } from '../../hub/schema/activations'
import { unmetCallsSql } from '../../hub/traces/unmet-calls-sql'
import { nullable } from '../../shared/db/fields'
import type { AccountId } from '../../shared/ids'

const x = alias(activations, 'x')

/** What the line below an answer says of the run that wrote it; null without a run `x`. */
export const provenanceFields = {
  /** The model that wrote it. */
  model: nullable(x.model),
  /** The coding agent that used the model. */
  program: nullable(x.program),
  notGranted: nullable(x.notGranted),
  unmetCalls: unmetCallsSql(x.id),
  /** The only account that the run acted for. */
  requesterId: sql<AccountId | null>`iif(json_array_length(${x.requesters}) = 1, ${x.requesters} ->> 0, NULL)`,
  outcome: nullable(x.outcome),
  tools: nullable(x.tools),
  startedAt: nullable(x.startedAt),
  finishedAt: nullable(x.finishedAt),
  tokens: sql<number | null>`${x.inputTokens} + ${x.outputTokens}`,
  costMicrousd: nullable(x.costMicrousd),
  isPriced: nullable(x.isPriced),
}
