import { decodePercent } from '../fetch/decode-percent'
import { toWebHostname } from '../services/check-service'

/** Where a database is: at a host, or behind a Hyperdrive binding of this Worker. */
export type Address =
  | { kind: 'host'; hostname: string; port: number; database: string; isPlain: boolean }
  | { kind: 'hyperdrive'; binding: string }

/**
 * Reads `postgres://host:5432/dbname`, with `?sslmode=disable` for a database in a private network
 * that has no TLS, or `hyperdrive:BINDING`. A text says what is wrong, in words for an admin.
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
    return 'must not hold user and password: they are the credential, as user:password'
  }
  const isPlain = readMode(url)
  if (isPlain === null) {
    return 'may end with ?sslmode=require (the default) or ?sslmode=disable, and with nothing else'
  }
  return {
    kind: 'host',
    hostname: toWebHostname(url),
    port: Number(url.port || 5432),
    database,
    isPlain,
  }
}

/** Whether it goes without TLS; null when it does not say so in words that are known. */
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

/** The name ends at the first colon; a password may hold more of them. */
export function splitCredential(credential: string): { user: string; password: string } | null {
  const at = credential.indexOf(':')
  const parts = { user: credential.slice(0, at), password: credential.slice(at + 1) }
  return at < 1 || parts.password === '' ? null : parts
}

/** As it is, and as SQL writes it within quotes. */
export const toSecrets = (password: string): string[] => [
  ...new Set([password, password.replaceAll("'", "''"), password.replaceAll('"', '""')]),
]
