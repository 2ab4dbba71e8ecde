import { AppError } from '../../errors'

/** Well-known shapes of secrets. Each is specific enough that prose does not match. */
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

/** What kind of secret a text seems to hold; null for none. Never the secret itself. */
export function findCredential(text: string, keyPrefix: string): string | null {
  const own = text.indexOf(keyPrefix)
  if (own >= 0) {
    const pattern = new RegExp(`(?:^|[^A-Za-z0-9_])${keyPrefix}[A-Za-z0-9_-]{32,}`)
    if (pattern.test(text.slice(Math.max(0, own - 1)))) return 'a key of this hub'
  }
  return shapes.find(([, pattern]) => pattern.test(text))?.[0] ?? null
}

/** What every shape holds, wherever it stands: a quick look before the exact one. */
const telltale = /sk-|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|xox|AIza|[sr]k_live_|npm_|PRIVATE KEY/

/** False when a text surely holds no credential, be it written as JSON or not. */
export const mayHoldCredential = (text: string, keyPrefix: string): boolean =>
  telltale.test(text) || text.includes(keyPrefix)

/** The text with everything shaped like a credential left out; a private key to its end. */
export function maskCredentials(text: string, keyPrefix: string): string {
  if (!mayHoldCredential(text, keyPrefix)) return text
  const own = new RegExp(`(?<![A-Za-z0-9_])${keyPrefix}[A-Za-z0-9_-]{32,}`, 'g')
  return [own, privateKey, ...shapes.map(([, shape]) => new RegExp(shape, 'g'))].reduce(
    (masked, shape) => masked.replace(shape, '[withheld]'),
    text,
  )
}

const privateKey =
  /-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY( BLOCK)?-----|$)/g

/** @throws VALIDATION when one of the fields holds what looks like a credential (H14) */
export function refuseCredentials(fields: Record<string, string>, keyPrefix: string): void {
  for (const [field, text] of Object.entries(fields)) {
    const kind = findCredential(text, keyPrefix)
    if (!kind) continue
    throw new AppError('VALIDATION', `The text seems to hold ${kind}, so it was not posted.`, {
      hint: 'Take it out. If it is real, revoke it now: treat it as seen.',
      details: [{ path: `body.${field}`, message: `looks like ${kind}` }],
    })
  }
}
