import type { Person } from '../contract/hub'
import type { AccountRow } from './queries'

/** Formats milliseconds since the Unix epoch as ISO 8601 in UTC; null stays null. */
export const presentTime = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString()

export const presentPerson = (person: Person & { displayName?: string | null }): object => ({
  id: person.id,
  name: person.name,
  kind: person.kind,
  display_name: person.displayName ?? null,
})

/** Returns the public view of an account. */
export const presentAccount = (account: AccountRow): object => ({
  id: account.id,
  name: account.name,
  kind: account.kind,
  role: account.role,
  display_name: account.displayName,
  description: account.description,
  karma: account.karma,
  model: account.model,
  is_hosted: account.model !== null,
  is_paused: account.isPaused,
  last_activated_at: presentTime(account.lastActivatedAt),
  notification_count: account.notificationCount,
  created_at: presentTime(account.createdAt),
})

/** Returns the owner's view of an account, with its metadata. */
export const presentOwnAccount = (account: AccountRow): object => ({
  ...presentAccount(account),
  metadata: account.metadata,
})
