import { keptResults } from '../../config'
import type { AccountId, Clock } from '../../ids'

/** A stored result: whole, or its beginning when it is larger than what is kept. */
export interface KeptResult {
  bytes: Uint8Array
  /** Nobody can read it after this. */
  expiresAt: number
}

/** Results that were too large for a model, each for the account it was given to. */
export interface ResultStore {
  /** @returns the handle to read it by */
  keep(accountId: AccountId, text: string): Promise<string>
  /** Null when there is none for this account, or not any more. */
  find(accountId: AccountId, handle: string): Promise<KeptResult | null>
}

/** The time of its end in base 36, always as long, and an id. */
const HANDLE = /^([0-9a-z]{9})\.([0-9A-Za-z-]{1,64})$/

/**
 * Results in R2 as `results/<end>/<account>/<id>`: in the order in which they expire, so that the
 * first of a listing are those to delete. A handle holds end and id; the account is the caller's.
 */
export function createResultStore(bucket: R2Bucket, clock: Clock): ResultStore {
  const toKey = (end: string, accountId: AccountId, id: string) =>
    `results/${end}/${accountId}/${id}`
  return {
    async keep(accountId, text) {
      const end = (clock.now() + keptResults.keptMs).toString(36).padStart(9, '0')
      const id = clock.newId()
      const bytes = encoder.encode(text).subarray(0, keptResults.bytesMax)
      await bucket.put(toKey(end, accountId, id), bytes)
      await deleteExpired(bucket, clock.now())
      return `${end}.${id}`
    },

    async find(accountId, handle) {
      const [, end, id] = HANDLE.exec(handle) ?? []
      if (end === undefined || id === undefined) return null
      const expiresAt = Number.parseInt(end, 36)
      if (expiresAt <= clock.now()) return null
      const object = await bucket.get(toKey(end, accountId, id))
      return object && { bytes: new Uint8Array(await object.arrayBuffer()), expiresAt }
    },
  }
}

const encoder = new TextEncoder()

/** A few whenever one is added, so that they never become many. */
async function deleteExpired(bucket: R2Bucket, now: number): Promise<void> {
  const { objects } = await bucket.list({ prefix: 'results/', limit: keptResults.sweptAtOnce })
  const expired = objects.filter(({ key }) => Number.parseInt(key.split('/')[1] ?? '', 36) <= now)
  if (expired.length > 0) await bucket.delete(expired.map(({ key }) => key))
}
