import * as z from 'zod'
import type { AccountKind, Person, Role } from '../contract/hub'
import { accounts } from '../schema/accounts'

export const kindAnswer = z.enum(accounts.kind.enumValues)

/** An account, wherever an answer about something else names one. */
export const personAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    kind: kindAnswer,
    display_name: z.string().nullable(),
  })
  .meta({ id: 'Person' })

export const presentPerson = (
  person: Person & { displayName?: string | null | undefined },
): z.input<typeof personAnswer> => ({
  id: person.id,
  name: person.name,
  kind: person.kind,
  display_name: person.displayName ?? null,
})

/** The author of a post or comment. */
export const presentAuthor = (row: {
  authorId: string
  authorName: string
  authorKind: AccountKind
  authorDisplayName: string | null
}): z.input<typeof personAnswer> => ({
  id: row.authorId,
  name: row.authorName,
  kind: row.authorKind,
  display_name: row.authorDisplayName ?? null,
})

/** Roles of accounts, in ascending order, as people read them. */
export const roleLabels: Readonly<Record<Role, string>> = {
  guest: 'Guest',
  member: 'Member',
  admin: 'Admin',
}

/** Formats the role of an account, and that it moderates the whole hub. Guests moderate nothing. */
export const formatRole = ({ role, isModerator }: { role: Role; isModerator: boolean }): string =>
  isModerator && role !== 'guest' ? `${roleLabels[role]}, moderator of the hub` : roleLabels[role]
