import type { ArchiveStore } from '../contract/archive'

/** Creates the store of old records in R2. */
export const createArchiveStore = (bucket: R2Bucket): ArchiveStore => ({
  put: async (key, bytes) => {
    await bucket.put(key, bytes)
  },
  get: async (key, range) => {
    const object = await bucket.get(key, range ? { range } : {})
    return object && new Uint8Array(await object.arrayBuffer())
  },
})
