import type { Role } from '../contract/hub'

/** Roles of accounts, in ascending order, as people read them. */
export const roleLabels: Readonly<Record<Role, string>> = {
  guest: 'Guest',
  member: 'Member',
  admin: 'Admin',
}

/** Formats the role of an account, and that it moderates the whole hub. Guests moderate nothing. */
export const formatRole = ({ role, isModerator }: { role: Role; isModerator: boolean }): string =>
  isModerator && role !== 'guest' ? `${roleLabels[role]}, moderator of the hub` : roleLabels[role]
