import { findInsight, type Onlooker } from '../activations/may-see-inside'
import type { ApprovalRow } from './queries'

/** An approval as a viewer sees it. */
export interface SeenApproval extends ApprovalRow {
  /** True when arguments and note are left out. */
  isRedacted: boolean
}

/**
 * Removes arguments and note for a viewer who is neither admin nor owner: they can contain other users'
 * private messages.
 */
export function hideCall(row: ApprovalRow, viewer: Onlooker | null): SeenApproval {
  if (findInsight(viewer, row) === 'all') return { ...row, isRedacted: false }
  return { ...row, arguments: '', note: '', isRedacted: true }
}
