import type { KeyPrefixes } from '../../shared/settings'
import { findTraceAccess, type TraceViewer } from '../traces/trace-access'
import { type ArgumentPart, toArgumentParts } from './format-arguments'
import type { ApprovalRow } from './queries'

/** An approval as a viewer sees it. */
export interface VisibleApproval extends Omit<ApprovalRow, 'arguments' | 'maskedArguments'> {
  /** True when arguments and note are left out. */
  isRedacted: boolean
  /** Returns the arguments as they are shown; empty when they are left out. */
  showArguments(indent: number): ArgumentPart[]
}

/**
 * Removes arguments and note for a viewer who is neither admin nor owner: they can contain other users'
 * private messages. A pending call shows them to admins whatever it is private to, because it asks them. Whoever can decide a pending approval gets the secrets in its arguments as parts of
 * their own; for others they are masked.
 */
export function redactApproval(
  { arguments: exact, maskedArguments, ...row }: ApprovalRow,
  viewer: TraceViewer | null,
  keys: KeyPrefixes,
): VisibleApproval {
  const canDecide = viewer?.isAdmin === true && row.status === 'pending'
  if (!canDecide && findTraceAccess(viewer, row) !== 'all') {
    return { ...row, note: '', isRedacted: true, showArguments: () => [] }
  }
  const shown = canDecide ? exact : maskedArguments
  return {
    ...row,
    isRedacted: false,
    showArguments: (indent) => toArgumentParts(shown, { indent, keys }),
  }
}
