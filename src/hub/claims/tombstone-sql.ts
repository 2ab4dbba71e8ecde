import { sql } from 'drizzle-orm'
import { accounts } from '../schema/accounts'

/** Prefix of the names of deleted accounts, which nobody can register. */
export const deletedNamePrefix = 'deleted-'

/** What a deleted account keeps: its id, kind and time. Its name is free, its profile is empty. */
export const tombstone = (now: number) => ({
  name: sql`${deletedNamePrefix} || substr(${accounts.id}, -12)`,
  displayName: 'Deleted account',
  description: '',
  searchDisplayName: null,
  searchDescription: null,
  metadata: sql`'{}'`,
  role: 'guest' as const,
  isModerator: false,
  ownerId: null,
  disabledAt: now,
  deletedAt: now,
})
