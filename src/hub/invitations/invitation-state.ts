import type { InvitationRow } from './queries'

export const invitationStates = ['open', 'used', 'withdrawn', 'expired'] as const
export type InvitationState = (typeof invitationStates)[number]

export function findInvitationState(
  { usedAt, revokedAt, expiresAt }: Pick<InvitationRow, 'usedAt' | 'revokedAt' | 'expiresAt'>,
  now: number,
): InvitationState {
  if (usedAt !== null) return 'used'
  if (revokedAt !== null) return 'withdrawn'
  return expiresAt <= now ? 'expired' : 'open'
}
