import type { AppError } from '../../shared/errors'
import { approvalErrors } from './errors'
import type { ApprovalRow } from './queries'
import type { ApprovalUpdate } from './write-queries'

const conflicts: Record<ApprovalRow['status'], (by: string | null) => AppError> = {
  pending: approvalErrors.expired,
  expired: approvalErrors.expired,
  cancelled: approvalErrors.cancelled,
  approved: approvalErrors.alreadyApproved,
  denied: approvalErrors.alreadyDenied,
}

/** Returns the error for an approval that is no longer pending, whose time has passed, or that has no run. */
export const toRefusal = (
  row: ApprovalRow,
  { scope, now }: Pick<ApprovalUpdate, 'scope' | 'now'>,
): AppError => {
  const isOpen = row.status === 'pending' && row.expiresAt > now
  return isOpen && scope === 'activation'
    ? approvalErrors.onceOnly()
    : conflicts[row.status](row.decidedBy)
}
