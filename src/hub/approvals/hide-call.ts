import { findInsight, type Onlooker } from '../activations/may-see-inside'
import type { ApprovalRow } from './queries'

/** An approval as somebody may see it. */
export interface SeenApproval extends ApprovalRow {
  /** The arguments and the note to the agent, which are inside its activation, are left out. */
  isRedacted: boolean
}

/** Who only asked the agent sees that a call waits, not with what: it may hold what others told it (M9). */
export function hideCall(row: ApprovalRow, viewer: Onlooker | null): SeenApproval {
  if (findInsight(viewer, row) === 'all') return { ...row, isRedacted: false }
  return { ...row, arguments: '', note: '', isRedacted: true }
}
