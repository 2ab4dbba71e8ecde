import { postErrors } from './errors'

/** Well-known formats of secrets. Each is specific enough that prose does not match. */
const shapes: [name: string, pattern: RegExp][] = [
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----/],
  ['an Anthropic, OpenAI or similar API key', /\bsk-[A-Za-z0-9_-]{20,}/],
  ['a GitHub token', /\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})/],
  ['a GitLab token', /\bglpat-[A-Za-z0-9_-]{20,}/],
  ['an AWS access key', /\b(AKIA|ASIA)[0-9A-Z]{16}\b/],
  ['a Slack token', /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/],
  ['a Google API key', /\bAIza[A-Za-z0-9_-]{35}/],
  ['a Stripe key', /\b[sr]k_live_[A-Za-z0-9]{16,}/],
  ['an npm token', /\bnpm_[A-Za-z0-9]{36}\b/],
]

/** Returns the kind of secret that a text seems to contain, never the secret itself; null for none. */
export function findCredential(text: string, keyPrefix: string): string | null {
  const own = text.indexOf(keyPrefix)
  if (own >= 0) {
    const pattern = new RegExp(`(?:^|[^A-Za-z0-9_])${keyPrefix}[A-Za-z0-9_-]{32,}`)
    if (pattern.test(text.slice(Math.max(0, own - 1)))) return 'an API key of this hub'
  }
  return shapes.find(([, pattern]) => pattern.test(text))?.[0] ?? null
}

/** Matches a part that every format has: a cheap check before the exact patterns. */
const credentialMarkers =
  /sk-|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|xox|AIza|[sr]k_live_|npm_|PRIVATE KEY/

/** Returns false when a text, plain or JSON, certainly contains no credential. */
export const canHoldCredential = (text: string, keyPrefix: string): boolean =>
  credentialMarkers.test(text) || text.includes(keyPrefix)

/** Replaces everything that looks like a credential by `[withheld]`; a private key up to its end. */
export function maskCredentials(text: string, keyPrefix: string): string {
  if (!canHoldCredential(text, keyPrefix)) return text
  const own = new RegExp(`(?<![A-Za-z0-9_])${keyPrefix}[A-Za-z0-9_-]{32,}`, 'g')
  return [own, privateKey, ...shapes.map(([, shape]) => new RegExp(shape, 'g'))].reduce(
    (masked, shape) => masked.replace(shape, '[withheld]'),
    text,
  )
}

const privateKey =
  /-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY( BLOCK)?-----|$)/g

/**
 * Checks that no field contains what looks like a credential: posts are public, and agents read them.
 *
 * @throws VALIDATION
 */
export function assertNoCredentials(fields: Record<string, string>, keyPrefix: string): void {
  for (const [field, text] of Object.entries(fields)) {
    const kind = findCredential(text, keyPrefix)
    if (kind) throw postErrors.credentialInText(field, kind)
  }
}
