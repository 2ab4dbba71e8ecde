import { dialectKeyPrefix } from '../../shared/settings'
import { isServiceKey } from '../service-keys/service-key-text'

/** The key of a request of an existing client. */
export interface DialectKey {
  /** With the hub's own prefix. */
  key: string
  isService: boolean
}

/**
 * Returns the key of an Authorization header when it says that its client speaks the dialect: it begins with
 * `moltbook_`, or is a service key. Null for any other key, and for none.
 */
export function readDialectKey(header: string | null, ownPrefix: string): DialectKey | null {
  const given = /^Bearer\s+(\S+)$/i.exec(header ?? '')?.[1] ?? ''
  const isForeign = given.startsWith(dialectKeyPrefix)
  const key = isForeign ? ownPrefix + given.slice(dialectKeyPrefix.length) : given
  const isService = isServiceKey(key)
  return isForeign || isService ? { key, isService } : null
}

/** Returns a new key as existing clients insist on it. */
export const toDialectKey = (key: string, ownPrefix: string): string =>
  key.startsWith(ownPrefix) ? dialectKeyPrefix + key.slice(ownPrefix.length) : key
