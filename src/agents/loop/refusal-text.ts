import type { ApprovalDecision } from '../../hub/contract/hub'

/** The result of a call that may have run when the server stopped. */
export const unknownOutcome =
  'Error: the outcome is unknown: the server stopped while this call ran. Check the result before you repeat the call.'

/**
 * Returns the result for a call that was denied or whose approval expired; null when the call was
 * approved.
 */
export function describeRefusal({ decision, by, note }: ApprovalDecision): string | null {
  if (decision === 'approved') return null
  if (decision === 'expired') return 'Error: the approval expired.'
  return `Error: denied by ${by ?? 'a person'}${note.trim() === '' ? '' : `: ${note.trim()}`}`
}
