import type { AuditEntry } from '../contract'

export const decisionWords: Record<AuditEntry['decision'], string> = {
  allowed: 'allowed',
  denied: 'denied',
  needs_approval: 'had to wait for a person',
  rate_limited: 'asked too often',
  invalid: 'wrong arguments',
  unknown_tool: 'no such tool',
}

export const outcomeWords: Record<NonNullable<AuditEntry['outcome']>, string> = {
  ok: 'done',
  error: 'failed',
  timeout: 'took too long',
  cancelled: 'cancelled',
}

/** Whether something ran, and how that ended; an allowed call without an end was cut short. */
export function sayEnd({ decision, outcome }: Pick<AuditEntry, 'decision' | 'outcome'>): string {
  if (outcome !== null) return outcomeWords[outcome]
  return decision === 'allowed' ? 'end not known' : 'not run'
}
