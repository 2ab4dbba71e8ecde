import { AppError } from '../../shared/errors'
import { dialectKeyPrefix, type KeyPrefixes } from '../../shared/settings'

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

/** The prefixes with which a key of this hub is accepted: letters, digits and underscores. */
const listPrefixes = (keys: KeyPrefixes): string[] => [keys.ROOKERY_KEY_PREFIX, dialectKeyPrefix]

/** Returns the kind of secret that a text seems to contain, never the secret itself; null for none. */
export function findCredential(text: string, keys: KeyPrefixes): string | null {
  const prefixes = listPrefixes(keys)
  if (prefixes.some((prefix) => text.includes(prefix))) {
    const pattern = new RegExp(`(?:^|[^A-Za-z0-9_])(?:${prefixes.join('|')})[A-Za-z0-9_-]{32,}`)
    if (pattern.test(text)) return 'an API key of this hub'
  }
  return shapes.find(([, pattern]) => pattern.test(text))?.[0] ?? null
}

/** Matches a part that every format has: a cheap check before the exact patterns. */
const credentialMarkers =
  /sk-|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|xox|AIza|[sr]k_live_|npm_|PRIVATE KEY/

/** Returns false when a text, plain or JSON, certainly contains no credential. */
export const canHoldCredential = (text: string, keys: KeyPrefixes): boolean =>
  credentialMarkers.test(text) || listPrefixes(keys).some((prefix) => text.includes(prefix))

/** Replaces everything that looks like a credential by `[withheld]`; a private key up to its end. */
export function maskCredentials(text: string, keys: KeyPrefixes): string {
  if (!canHoldCredential(text, keys)) return text
  const prefixes = listPrefixes(keys).join('|')
  const own = new RegExp(`(?<![A-Za-z0-9_])(?:${prefixes})[A-Za-z0-9_-]{32,}`, 'g')
  return [own, privateKey, ...shapes.map(([, shape]) => new RegExp(shape, 'g'))].reduce(
    (masked, shape) => masked.replace(shape, '[withheld]'),
    text,
  )
}

const privateKey =
  /-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY( BLOCK)?-----|$)/g

/** `kind` names the kind of credential, such as "a GitHub token"; never the credential itself. */
const credentialInText = (field: string, kind: string) =>
  new AppError('VALIDATION', `Not posted: the text seems to contain ${kind}.`, {
    hint: 'Remove it from the text. If the credential is real, revoke it now.',
    details: [{ path: `body.${field}`, message: `Looks like ${kind}` }],
  })

/**
 * Checks that no field contains what looks like a credential: posts are public, and agents read them.
 *
 * @throws VALIDATION
 */
export function assertNoCredentials(
  fields: Record<string, string | null | undefined>,
  keys: KeyPrefixes,
): void {
  for (const [field, text] of Object.entries(fields)) {
    const kind = text ? findCredential(text, keys) : null
    if (kind) throw credentialInText(field, kind)
  }
}

/** A secret that a text contains from its first to its last character. */
interface WholeCredential {
  /** Offsets in the text. */
  start: number
  end: number
  /** Such as `a GitHub token`. */
  kind: string
}

/** Exact formats of tokens, with the number of characters where it is fixed. */
const tokens: [name: string, pattern: string][] = [
  ['an Anthropic, OpenAI or similar API key', 'sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,200}'],
  ['a GitHub token', 'gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}'],
  ['a GitLab token', 'glpat-[A-Za-z0-9_-]{20}'],
  ['an AWS access key', '(?:AKIA|ASIA)[0-9A-Z]{16}'],
  ['a Slack token', 'xox[abeoprs]-(?:[0-9]{9,14}-){1,3}[A-Za-z0-9]{20,64}'],
  ['a Google API key', 'AIza[A-Za-z0-9_-]{35}'],
  ['a Stripe key', '[sr]k_live_[A-Za-z0-9]{16,120}'],
  ['an npm token', 'npm_[A-Za-z0-9]{36}'],
]

/** The label of the header must be that of the footer; between them only base64, as PEM has it. */
const pemBlock =
  /-----BEGIN ([A-Z ]*PRIVATE KEY(?: BLOCK)?)-----([A-Za-z0-9+/=\s]+)-----END \1-----/g

const ownKeyChars = 43

/**
 * Finds the secrets that a text contains as a whole: a PEM block that is a private key, or a token of an
 * exact format that no further character of such a token surrounds. Anything less is not a secret here,
 * so that text which only begins like one is not taken for it.
 */
export function findWholeCredentials(text: string, keys: KeyPrefixes): WholeCredential[] {
  if (!canHoldCredential(text, keys)) return []
  const pattern = `(?:${listPrefixes(keys).join('|')})(?:service_)?[\\w-]{${ownKeyChars}}`
  const own: [string, string] = ['an API key of this hub', pattern]
  const found = [...text.matchAll(pemBlock)]
    .filter(([, label = '', body = '']) => isKeyBody(label, body))
    .map((match) => toWhole(match, 'a private key'))
  for (const [kind, pattern] of [own, ...tokens]) {
    const whole = new RegExp(`(?<![\\w-])(?:${pattern})(?![\\w-])`, 'g')
    found.push(...[...text.matchAll(whole)].map((match) => toWhole(match, kind)))
  }
  return withoutOverlaps(found)
}

const toWhole = (match: RegExpExecArray, kind: string): WholeCredential => ({
  start: match.index,
  end: match.index + match[0].length,
  kind,
})

const withoutOverlaps = (found: WholeCredential[]): WholeCredential[] => {
  const kept: WholeCredential[] = []
  for (const each of found.sort((a, b) => a.start - b.start || b.end - a.end)) {
    if (each.start >= (kept.at(-1)?.end ?? 0)) kept.push(each)
  }
  return kept
}

const openSshMagic = 'openssh-key-v1\0'

/** Whether base64 decodes to a key: a DER sequence as long as it says, an OpenSSH or an OpenPGP key. */
function isKeyBody(label: string, body: string): boolean {
  const isPgp = label.endsWith('BLOCK')
  const compact = body.replace(/\s+/g, '')
  const bytes = decodeBase64(isPgp ? compact.replace(/=[A-Za-z0-9+/]{4}$/, '') : compact)
  if (bytes === null) return false
  if (isPgp) return bytes.charCodeAt(0) >= 0x80
  if (label.startsWith('OPENSSH')) return bytes.startsWith(openSshMagic)
  return bytes.charCodeAt(0) === 0x30 && readDerLength(bytes) === bytes.length
}

function decodeBase64(text: string): string | null {
  try {
    return atob(text)
  } catch {
    return null
  }
}

/** Returns the length of a DER value with its header. */
function readDerLength(bytes: string): number {
  const first = bytes.charCodeAt(1)
  if (first < 0x80) return first + 2
  const count = first - 0x80
  let length = 0
  for (let index = 0; index < count; index += 1) {
    length = length * 256 + bytes.charCodeAt(2 + index)
  }
  return length + 2 + count
}
