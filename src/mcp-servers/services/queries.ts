import { and, eq } from 'drizzle-orm'
import { many, one, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import { services } from '../schema'

/** A service as it is stored. */
export type ServiceRow = typeof services.$inferSelect

const isService = (server: string, name: string) =>
  and(eq(services.server, server), eq(services.name, name))

export const selectServices = (): Statement<ServiceRow[]> =>
  many(orm.select().from(services).orderBy(services.server, services.name))

export const selectService = (server: string, name: string): Statement<ServiceRow | undefined> =>
  one(orm.select().from(services).where(isService(server, name)))

export const upsertService = ({ server, name, ...set }: ServiceRow): Statement<void> =>
  write(
    orm
      .insert(services)
      .values({ server, name, ...set })
      .onConflictDoUpdate({ target: [services.server, services.name], set }),
  )

/** Deletes a service; answers whether there was one. */
export const deleteService = (server: string, name: string): Statement<boolean> =>
  writeChanges(orm.delete(services).where(isService(server, name)))
