import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { SetPrice } from '../../hub/contract/hub'

/** Providers of models that admins set up on a page. Their keys are credentials, their base URLs services. */
export const modelProviders = sqliteTable('model_providers', {
  provider: text('provider').primaryKey(),
  /** The model of definitions that name none; null: the default of the provider. */
  defaultModel: text('default_model'),
  /** Models that the provider listed when it was last asked. */
  listed: text('listed', { mode: 'json' }).$type<string[]>().notNull().default([]),
  listedAt: integer('listed_at'),
  /** Prices that an admin set, by the name of the model. */
  prices: text('prices', { mode: 'json' }).$type<Record<string, SetPrice>>().notNull().default({}),
  updatedAt: integer('updated_at').notNull(),
  updatedBy: text('updated_by').notNull(),
})
