import type { AuditEntry } from '../contract'

/** Labels of decisions on tool calls. */
export const decisionWords: Record<AuditEntry['decision'], string> = {
  allowed: 'allowed',
  denied: 'denied',
  needs_approval: 'requires approval',
  rate_limited: 'rate limited',
  invalid: 'invalid arguments',
  unknown_tool: 'unknown tool',
}

/** Labels of outcomes of tool calls. */
export const outcomeWords: Record<NonNullable<AuditEntry['outcome']>, string> = {
  ok: 'succeeded',
  error: 'failed',
  timeout: 'timed out',
  cancelled: 'cancelled',
}

/** Returns the label of an outcome; an allowed call without one was interrupted. */
export function sayEnd({ decision, outcome }: Pick<AuditEntry, 'decision' | 'outcome'>): string {
  if (outcome !== null) return outcomeWords[outcome]
  return decision === 'allowed' ? 'unknown' : 'not run'
}
