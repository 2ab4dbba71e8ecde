import type { MediaStore } from '../contract/hub'

const toKey = (id: string): string => `media/${id}`

/** Creates the store of images in R2. */
export const createMediaStore = (bucket: R2Bucket): MediaStore => ({
  put: async (id, bytes) => {
    await bucket.put(toKey(id), bytes)
  },
  get: async (id) => (await bucket.get(toKey(id)))?.body ?? null,
  delete: (ids) => bucket.delete(ids.map(toKey)),
})
