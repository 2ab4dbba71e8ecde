import type { StoredFile } from './workspace'

/** A file as tools tell of it. */
export const presentFile = ({ path, bytes, etag, updatedAt }: StoredFile) => ({
  path,
  bytes,
  etag,
  updated_at: new Date(updatedAt).toISOString(),
})
