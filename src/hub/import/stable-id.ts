import { isUuid } from '../../shared/ids'
import { sha256 } from '../sha256'

/**
 * Returns the id of an imported record: the source's id when it is a UUID; otherwise a UUID version 8
 * (RFC 9562) derived from the source's id or from `identity`, so that a second import gets the same id.
 */
export async function toStableId<Id extends string>(
  kind: string,
  sourceId: unknown,
  identity: string,
): Promise<Id> {
  if (typeof sourceId === 'string' && isUuid(sourceId)) return sourceId.toLowerCase() as Id
  const hasId = typeof sourceId === 'string' || typeof sourceId === 'number'
  const hex = await sha256(`${kind}\0${hasId ? String(sourceId) : identity}`)
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
  return id as Id
}
