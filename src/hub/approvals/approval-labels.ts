/** Status of an approval. */
export const statusLabels = {
  pending: 'pending',
  approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  cancelled: 'cancelled',
} as const

/** First lines of the page: nothing pending, pending for a requester, pending for an admin. */
export const leadTexts = {
  nothingPending: 'No approvals are pending.',
  requester:
    'Calls for your requests wait here for an admin. Until an admin decides, the agent works on other tasks.',
  approver:
    'Each call is shown exactly as it would run. Keys and tokens are masked: select a mask to see the value. Until you decide, the agent works on other tasks.',
} as const
