import { isUuid } from '../../ids'
import { sha256 } from '../sha256'

/**
 * The id that a record keeps: its source's own when that is a UUID, else a UUID (version 8, RFC
 * 9562) made from what identifies it, so that importing it again gives the same one.
 */
export async function toStableId(kind: string, given: unknown, identity: string): Promise<string> {
  if (typeof given === 'string' && isUuid(given)) return given.toLowerCase()
  const named = typeof given === 'string' || typeof given === 'number' ? String(given) : identity
  const hex = await sha256(`${kind}\0${named}`)
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}
