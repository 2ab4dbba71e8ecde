import type { Role } from '../contract/hub'

/** Roles of accounts, in ascending order, as people read them. */
export const roleLabels: Readonly<Record<Role, string>> = {
  guest: 'Guest',
  member: 'Member',
  admin: 'Admin',
}
