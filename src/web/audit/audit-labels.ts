import type { AuditEntry } from '../../hub/contract/hub'

/** Labels of decisions on tool calls. */
export const decisionLabels: Record<AuditEntry['decision'], string> = {
  allowed: 'allowed',
  denied: 'denied',
  needs_approval: 'requires approval',
  rate_limited: 'rate limited',
  invalid: 'invalid arguments',
  unknown_tool: 'unknown tool',
}

/** Labels of outcomes of tool calls. */
export const outcomeLabels: Record<NonNullable<AuditEntry['outcome']>, string> = {
  ok: 'succeeded',
  error: 'failed',
  timeout: 'timed out',
  cancelled: 'cancelled',
}

/** Returns the label of an outcome; an allowed call without one was interrupted. */
export function formatOutcome({
  decision,
  outcome,
}: Pick<AuditEntry, 'decision' | 'outcome'>): string {
  if (outcome !== null) return outcomeLabels[outcome]
  return decision === 'allowed' ? 'unknown' : 'not run'
}
