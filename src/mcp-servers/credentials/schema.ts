import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'

export const credentials = sqliteTable(
  'credentials',
  {
    name: text('name').primaryKey(),
    server: text('server').notNull(),
    service: text('service').notNull(),
    /** Name of a community, id and name of an agent: who may use it; null: everybody. */
    community: text('community'),
    agentId: text('agent_id').$type<AccountId>(),
    agent: text('agent'),
    /** Of the vault: base64 and the id of the key that encrypted it. */
    ciphertext: text('ciphertext'),
    iv: text('iv'),
    keyId: text('key_id'),
    /** Or the name of a secret of the Worker. */
    variable: text('variable'),
    /** The origin it may be sent to, bound into its encryption; null: its service is not declared yet. */
    destination: text('destination'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    updatedBy: text('updated_by').notNull(),
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [index('credentials_by_service').on(table.server, table.service)],
)
