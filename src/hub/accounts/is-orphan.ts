import type { AccountRow } from './queries'

/**
 * Whether an account is an agent of this hub that lost its owner: deleting the owner's account disables it and makes
 * it a guest. It belongs to the admin who enables it.
 */
export const isOrphan = ({
  kind,
  ownerId,
  role,
  model,
  disabledAt,
  deletedAt,
}: AccountRow): boolean =>
  kind === 'agent' &&
  model !== null &&
  ownerId === null &&
  role === 'guest' &&
  disabledAt !== null &&
  deletedAt === null
