import { decodePercent } from '../fetch/decode-percent'
import { toWebHostname } from '../services/check-service'

/** The address of a database: a host, or a Hyperdrive binding of this Worker. */
export type Address =
  | { kind: 'host'; hostname: string; port: number; database: string; isPlain: boolean }
  | { kind: 'hyperdrive'; binding: string }

/**
 * Parses `postgres://host:5432/dbname`, with `?sslmode=disable` for a database in a private network
 * without TLS, or `hyperdrive:BINDING`.
 *
 * @returns the address, or the problem as a text for an admin
 */
export function readAddress(url: URL): Address | string {
  if (url.protocol === 'hyperdrive:') return readBinding(url)
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') {
    return 'must begin with postgres:// or hyperdrive:'
  }
  const database = decodePercent(url.pathname.slice(1))
  if (url.hostname === '' || !database || database.includes('/')) {
    return 'must be like postgres://host:5432/dbname'
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not contain user and password: set them as the credential, as user:password'
  }
  const isPlain = readMode(url)
  if (isPlain === null) {
    return 'can only have the query ?sslmode=require (the default) or ?sslmode=disable'
  }
  return {
    kind: 'host',
    hostname: toWebHostname(url),
    port: Number(url.port || 5432),
    database,
    isPlain,
  }
}

/** Whether the URL disables TLS; null when its query or fragment is not supported. */
function readMode({ search, hash }: URL): boolean | null {
  if (hash !== '' || !/^(\?sslmode=(require|disable))?$/.test(search)) return null
  return search.endsWith('disable')
}

function readBinding(url: URL): Address | string {
  const isName = /^[A-Za-z_][A-Za-z0-9_]*$/.test(url.pathname)
  return isName
    ? { kind: 'hyperdrive', binding: url.pathname }
    : 'must be like hyperdrive:BINDING, a name in wrangler.toml'
}

/** Splits a credential at the first colon, since a password can contain more; null: not user:password. */
export function splitCredential(credential: string): { user: string; password: string } | null {
  const at = credential.indexOf(':')
  const parts = { user: credential.slice(0, at), password: credential.slice(at + 1) }
  return at < 1 || parts.password === '' ? null : parts
}

/** Returns a password plain and as SQL writes it in quotes. */
export const toSecrets = (password: string): string[] => [
  ...new Set([password, password.replaceAll("'", "''"), password.replaceAll('"', '""')]),
]
