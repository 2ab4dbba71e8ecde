import { maskCredentials, mayHoldCredential } from '../posts/credential-shapes'

/**
 * A trace as JSON without what is shaped like a credential (invariant 2). Its texts are looked at as
 * texts, since JSON hides where a word begins.
 */
export function maskTrace(trace: string, keyPrefix: string): string {
  if (!mayHoldCredential(trace, keyPrefix)) return trace
  return JSON.stringify(
    JSON.parse(trace, (_key, value: unknown) =>
      typeof value === 'string' ? maskCredentials(value, keyPrefix) : value,
    ),
  )
}
