import { and, eq, sql } from 'drizzle-orm'
import { many, orm, prepare, type Statement, write, writeChanges } from '../../shared/db/statement'
import { credentials } from '../credentials/schema'
import { services } from '../services/schema'
import { modelProviders } from './schema'

/** The server name of the keys and addresses of model providers. */
export const modelServer = 'models'

/** Returns the name of a provider's key. No other credential can have it: names have no `/`. */
export const keyNameOf = (provider: string): string => `${modelServer}/${provider}`

const m = modelProviders
const s = services
const c = credentials

/** Selects the providers that are set up, each with its declared address and its encrypted key. */
export const selectProviderRows = prepare(() =>
  many(
    orm
      .select({ provider: m, service: s, credential: c })
      .from(m)
      .leftJoin(s, and(eq(s.server, sql.raw(`'${modelServer}'`)), eq(s.name, m.provider)))
      .leftJoin(c, eq(c.name, sql`'models/' || ${m.provider}`))
      .orderBy(m.provider),
  ),
)

type Answered<S> = S extends Statement<infer Result> ? Result : never
export type ProviderRow = Answered<ReturnType<typeof selectProviderRows>>[number]

/** Records that an admin set up or changed a provider; fields that are left out stay. */
export const upsertProvider = (
  row: Pick<typeof modelProviders.$inferInsert, 'provider' | 'updatedAt' | 'updatedBy'> &
    Partial<typeof modelProviders.$inferInsert>,
): Statement<void> => {
  const { provider: _, ...set } = row
  return write(orm.insert(m).values(row).onConflictDoUpdate({ target: m.provider, set }))
}

/** Deletes a provider; answers whether it was set up. */
export const deleteProvider = (provider: string): Statement<boolean> =>
  writeChanges(orm.delete(m).where(eq(m.provider, provider)))
