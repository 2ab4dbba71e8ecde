import { findTraceAccess, type TraceViewer } from '../activations/trace-access'
import type { ApprovalRow } from './queries'

/** An approval as a viewer sees it. */
export interface VisibleApproval extends ApprovalRow {
  /** True when arguments and note are left out. */
  isRedacted: boolean
}

/**
 * Removes arguments and note for a viewer who is neither admin nor owner: they can contain other users'
 * private messages.
 */
export function redactApproval(row: ApprovalRow, viewer: TraceViewer | null): VisibleApproval {
  if (findTraceAccess(viewer, row) === 'all') return { ...row, isRedacted: false }
  return { ...row, arguments: '', note: '', isRedacted: true }
}
