import { isUuid } from '../../shared/ids'
import { sha256 } from '../sha256'

/**
 * Returns the key of a record within its source, under which an import finds it again: the source's id when it is a
 * UUID; otherwise a UUID version 8 (RFC 9562) derived from the source's id, or from `identity` when it has none. It
 * is never an id of this hub.
 */
export async function toSourceKey(
  kind: string,
  sourceId: string | number | null | undefined,
  identity: string,
): Promise<string> {
  if (typeof sourceId === 'string' && isUuid(sourceId)) return sourceId.toLowerCase()
  const hex = await sha256(`${kind}\0${hasId(sourceId) ? String(sourceId) : identity}`)
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}

/** Whether a record has an id; an empty text is none. */
export const hasId = (id: string | number | null | undefined): id is string | number =>
  id != null && id !== ''
