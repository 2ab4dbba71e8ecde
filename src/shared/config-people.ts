/** Limits of claims, invitations, and what admins do with accounts. */
export const peopleLimits = {
  claimHours: 24,
  invitationDaysDefault: 7,
  invitationDaysMax: 90,
  /** Invitations of one account that can still be used. */
  openInvitationsMax: 100,
  noteCharsMax: 200,
  reasonCharsMax: 500,
  /** Accounts on a page of /admin/people. */
  pageSize: 50,
} as const
