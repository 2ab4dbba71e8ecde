import type { KeyPrefixes } from '../../shared/settings'
import { canHoldCredential, maskCredentials } from '../posts/credential-patterns'

/**
 * Returns a trace as JSON with credentials masked. Each string value is checked after parsing, because
 * JSON escapes hide word boundaries.
 */
export function maskTrace(trace: string, keys: KeyPrefixes): string {
  if (!canHoldCredential(trace, keys)) return trace
  return JSON.stringify(
    JSON.parse(trace, (_key, value: unknown) =>
      typeof value === 'string' ? maskCredentials(value, keys) : value,
    ),
  )
}
