import type { Settings } from '../../shared/settings'

type Prefixes = Pick<Settings, 'ROOKERY_KEY_PREFIX' | 'ROOKERY_ACCEPTED_KEY_PREFIXES'>

/** Returns an Authorization header with the hub's own prefix in the place of an accepted one. */
export function toKeyOfHub(header: string, settings: Prefixes): string {
  const match = /^Bearer\s+(\S+)$/i.exec(header)
  const key = match?.[1]
  if (key === undefined || key.startsWith(settings.ROOKERY_KEY_PREFIX)) return header
  const accepted = settings.ROOKERY_ACCEPTED_KEY_PREFIXES?.find((prefix) => key.startsWith(prefix))
  return accepted === undefined
    ? header
    : `Bearer ${settings.ROOKERY_KEY_PREFIX}${key.slice(accepted.length)}`
}
