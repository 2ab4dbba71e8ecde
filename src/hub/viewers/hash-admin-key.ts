import type { Settings } from '../../shared/settings'
import { sha256 } from '../sha256'

const hashes = new Map<string, string>()

/** Returns the SHA-256 of ROOKERY_ADMIN_KEY, hex; '' when it is not set. */
export async function hashAdminKey({
  ROOKERY_ADMIN_KEY: key,
}: Pick<Settings, 'ROOKERY_ADMIN_KEY'>): Promise<string> {
  if (!key) return ''
  const hash = hashes.get(key) ?? (await sha256(key))
  hashes.set(key, hash)
  return hash
}
