import type { DataOwner } from '../../hub/contract/hub'
import { keptResults } from '../../shared/config'
import type { AccountId, Clock } from '../../shared/ids'

/** A stored result: whole, or its beginning when it exceeds the size limit. */
interface StoredResult {
  bytes: Uint8Array
  /** It cannot be read after this time. */
  expiresAt: number
  /** Only runs for its requester can read it. */
  isPrivate?: true
}

/**
 * The store of results that were too large to return. Only the account that got a result can read it, and
 * a private one only in runs for its requester.
 */
export interface ResultStore {
  /**
   * @param privateTo the account whose runs alone can read it; null: all runs can
   * @returns the handle to read it by
   */
  keep(accountId: AccountId, text: string, privateTo: DataOwner | null): Promise<string>
  /**
   * Returns a result; null when the account has none with this handle, it expired, or it is private to
   * another account than the reader.
   */
  find(accountId: AccountId, handle: string, reader: DataOwner | null): Promise<StoredResult | null>
}

/** The expiry time in base 36, of fixed length, and an id. */
const HANDLE = /^([0-9a-z]{9})\.([0-9A-Za-z-]{1,64})$/

/**
 * Creates a result store in R2. Keys are `results/<expiry>/<account>/<id>`, so that a listing begins
 * with the results to delete; a private result has its reader before the id. A handle contains expiry
 * and id; account and reader are those of the caller.
 */
export function createResultStore(bucket: R2Bucket, clock: Clock): ResultStore {
  const toKey = (end: string, accountId: AccountId, reader: DataOwner | null, id: string) =>
    `results/${end}/${accountId}/${reader === null ? '' : `${reader}/`}${id}`
  return {
    async keep(accountId, text, privateTo) {
      const end = (clock.now() + keptResults.keptMs).toString(36).padStart(9, '0')
      const id = clock.newId()
      const bytes = encoder.encode(text).subarray(0, keptResults.bytesMax)
      await bucket.put(toKey(end, accountId, privateTo, id), bytes)
      await deleteExpired(bucket, clock.now())
      return `${end}.${id}`
    },

    async find(accountId, handle, reader) {
      const [, end, id] = HANDLE.exec(handle) ?? []
      if (end === undefined || id === undefined) return null
      const expiresAt = Number.parseInt(end, 36)
      if (expiresAt <= clock.now()) return null
      const shared = await bucket.get(toKey(end, accountId, null, id))
      const object = shared ?? (reader && (await bucket.get(toKey(end, accountId, reader, id))))
      if (!object) return null
      const bytes = new Uint8Array(await object.arrayBuffer())
      return { bytes, expiresAt, ...(!shared && { isPrivate: true }) }
    },
  }
}

const encoder = new TextEncoder()

/** Deletes a few expired results whenever one is added. */
async function deleteExpired(bucket: R2Bucket, now: number): Promise<void> {
  const { objects } = await bucket.list({ prefix: 'results/', limit: keptResults.sweptAtOnce })
  const expired = objects.filter(({ key }) => Number.parseInt(key.split('/')[1] ?? '', 36) <= now)
  if (expired.length > 0) await bucket.delete(expired.map(({ key }) => key))
}
