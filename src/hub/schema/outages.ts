import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId } from '../../shared/ids'

/** Model providers that are down. */
export const providerOutages = sqliteTable('provider_outages', {
  /** Base URL of the provider. */
  address: text('address').primaryKey(),
  startedAt: integer('started_at').notNull(),
  /** When an agent tries the provider again. */
  dueAt: integer('due_at').notNull(),
  /** Failed attempts since the first one. */
  attempts: integer('attempts').notNull(),
})

/** Agents that wait for a provider, each with the parked activation that waits. */
export const outageWaits = sqliteTable(
  'outage_waits',
  {
    agentId: text('agent_id').$type<AccountId>().primaryKey(),
    activationId: text('activation_id').$type<ActivationId>().notNull(),
    address: text('address').notNull(),
    since: integer('since').notNull(),
  },
  (table) => [
    index('outage_waits_by_address').on(table.address, table.since, table.agentId),
    index('outage_waits_by_activation').on(sql`${table.activationId}`),
  ],
)
