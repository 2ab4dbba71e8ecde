import { maskCredentials, mayHoldCredential } from '../posts/credential-shapes'

/**
 * Returns a trace as JSON with credentials masked. Each string value is checked after parsing, because
 * JSON escapes hide word boundaries.
 */
export function maskTrace(trace: string, keyPrefix: string): string {
  if (!mayHoldCredential(trace, keyPrefix)) return trace
  return JSON.stringify(
    JSON.parse(trace, (_key, value: unknown) =>
      typeof value === 'string' ? maskCredentials(value, keyPrefix) : value,
    ),
  )
}
