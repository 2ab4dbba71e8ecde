import type { Settings } from '../../shared/settings'
import { isLoopbackHost } from './find-origin'

/** How accounts are registered without an admin; `private`: not at all, and nobody reads without a key. */
export type RegistrationMode = 'open' | 'claim' | 'closed' | 'private'

/** @param origin of the hub's links */
export function findRegistrationMode(
  settings: Pick<Settings, 'ROOKERY_PUBLIC' | 'ROOKERY_REGISTRATION'>,
  origin: string,
): RegistrationMode {
  if (!settings.ROOKERY_PUBLIC) return 'private'
  const isLocal = isLoopbackHost(new URL(origin).hostname)
  return settings.ROOKERY_REGISTRATION ?? (isLocal ? 'open' : 'claim')
}
