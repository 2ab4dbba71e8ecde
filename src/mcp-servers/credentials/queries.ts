import { and, eq, getTableColumns, isNull, ne, or } from 'drizzle-orm'
import { many, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { credentials } from '../schema'
import type { Sealed } from './cipher'

/** A credential with its encrypted value. */
export type CredentialRow = typeof credentials.$inferSelect

/** The columns of a value that is a secret of the Worker. */
export type Unsealed = Record<keyof Sealed, null>

/** A credential without its value, encrypted or not. */
export type ListedCredentialRow = Omit<CredentialRow, 'ciphertext' | 'iv'>

const { ciphertext: _ciphertext, iv: _iv, ...listedFields } = getTableColumns(credentials)

/** Selects the credentials of external services; the keys of model providers have a page of their own. */
export const selectCredentials = (): Statement<ListedCredentialRow[]> =>
  many(
    orm
      .select(listedFields)
      .from(credentials)
      .where(ne(credentials.server, 'models'))
      .orderBy(credentials.name),
  )

/** Selects the credentials that can apply to a service: without an agent, or of this agent. */
export const selectCandidates = ({
  server,
  service,
  agentId,
}: {
  server: string
  service: string
  agentId: AccountId
}): Statement<CredentialRow[]> =>
  many(
    orm
      .select()
      .from(credentials)
      .where(
        and(
          eq(credentials.server, server),
          eq(credentials.service, service),
          or(isNull(credentials.agentId), eq(credentials.agentId, agentId)),
        ),
      ),
  )

/** Selects the credentials of a service, of all agents. */
export const selectCredentialsOf = (server: string, service: string): Statement<CredentialRow[]> =>
  many(
    orm
      .select()
      .from(credentials)
      .where(and(eq(credentials.server, server), eq(credentials.service, service))),
  )

/** Inserts a credential; one of the same name is replaced, but keeps its creation and last use. */
export function upsertCredential(row: typeof credentials.$inferInsert): Statement<void> {
  const { name, createdAt, lastUsedAt, ...set } = row
  return write(
    orm.insert(credentials).values(row).onConflictDoUpdate({ target: credentials.name, set }),
  )
}

/** Deletes a credential; answers whether there was one. */
export const deleteCredential = (name: string): Statement<boolean> =>
  writeChanges(orm.delete(credentials).where(eq(credentials.name, name)))

export const touchCredential = (name: string, now: number): Statement<void> =>
  write(orm.update(credentials).set({ lastUsedAt: now }).where(eq(credentials.name, name)))

/** Stores a credential encrypted anew for a destination, unless it was replaced in the meantime. */
export const resealCredential = (
  { name, ciphertext, variable }: CredentialRow,
  { destination, ...sealed }: (Sealed | Unsealed) & { destination: string },
): Statement<void> =>
  write(
    orm
      .update(credentials)
      .set({ destination, ...sealed })
      .where(
        and(
          eq(credentials.name, name),
          ciphertext === null
            ? eq(credentials.variable, variable ?? '')
            : eq(credentials.ciphertext, ciphertext),
        ),
      ),
  )
