import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const services = sqliteTable(
  'services',
  {
    server: text('server').notNull(),
    name: text('name').notNull(),
    baseUrl: text('base_url').notNull(),
    /** JSON list of host[:port] that requests may go to, the base URL's own among them. */
    hosts: text('hosts', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON object, "{credential}" standing for the credential. */
    headers: text('headers', { mode: 'json' })
      .$type<Record<string, string>>()
      .notNull()
      .default({}),
    /** Name of the one to use when neither agent nor community has its own; null: the only one there is. */
    credential: text('credential'),
    format: text('format', { enum: ['json', 'any'] })
      .notNull()
      .default('json'),
    allowHttp: integer('allow_http', { mode: 'boolean' }).notNull().default(false),
    allowPrivate: integer('allow_private', { mode: 'boolean' }).notNull().default(false),
    updatedAt: integer('updated_at').notNull(),
    updatedBy: text('updated_by').notNull(),
  },
  (table) => [primaryKey({ columns: [table.server, table.name] })],
)
