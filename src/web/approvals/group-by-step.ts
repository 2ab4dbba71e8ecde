import type { VisibleApproval } from '../../hub/approvals/redact-approval'

/**
 * Groups pending approvals by the step of the run that requested them, each step in the order of its calls.
 * A run waits with the calls of one step only; a call of an external program is a step of its own.
 */
export function groupByStep(rows: readonly VisibleApproval[]): VisibleApproval[][] {
  const groups = Map.groupBy(rows, ({ id, activationId }) => activationId ?? id)
  return [...groups.values()].map((calls) => calls.toSorted((a, b) => a.row - b.row))
}
