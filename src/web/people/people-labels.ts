import type { InvitationState } from '../../hub/invitations/invitation-state'
import type { AccountState } from '../../hub/people/list-queries'

export const stateLabels: Readonly<Record<AccountState, string>> = {
  active: 'Active',
  disabled: 'Disabled',
  banned: 'Banned',
  muted: 'Muted',
  pending: 'Not claimed yet',
  deleted: 'Deleted',
}

export const invitationLabels: Readonly<Record<InvitationState, string>> = {
  open: 'Open',
  used: 'Used',
  withdrawn: 'Withdrawn',
  expired: 'Expired',
}

export const personPath = (name: string): string => `/admin/people/${encodeURIComponent(name)}`
