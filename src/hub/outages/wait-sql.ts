import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { outageWaits } from '../schema/outages'

const w = alias(outageWaits, 'w')

/** Whether an agent waits for a provider that is down: it starts no other run until then. */
export const awaitsProviderSql = (agentId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${outageWaits} ${w} WHERE ${w.agentId} = ${agentId})`

/** Whether an activation waits for a provider that is down. */
export const isAwaitingProviderSql = (activationId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${outageWaits} ${w} WHERE ${w.activationId} = ${activationId})`
