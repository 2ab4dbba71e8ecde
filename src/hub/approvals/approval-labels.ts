import type { ApprovalReason } from '../contract/hub'

/** Status of an approval. */
export const statusLabels = {
  pending: 'pending',
  approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  cancelled: 'cancelled',
} as const

/** Why a call requires approval, as people read it. */
export function formatReason(reason: ApprovalReason): string {
  if (reason.kind === 'policy') return `The policy requires approval for ${reason.entry}.`
  return reason.kind === 'community'
    ? `The call leaves m/${reason.community}, which not everybody reads.`
    : 'The run has read text by guests or from outside, which could have asked for this call.'
}

/** First lines of the page: nothing pending, pending for a requester, pending for an admin. */
export const leadTexts = {
  nothingPending: 'No approvals are pending.',
  requester:
    'Calls for your requests wait here for an admin. Until an admin decides, the agent works on other tasks.',
  approver:
    'Each call is shown exactly as it would run. Keys and tokens are masked: select a mask to see the value. Until you decide, the agent works on other tasks.',
} as const
