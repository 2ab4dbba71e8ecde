import type { StoredFile } from './workspace'

/** Converts a stored file to a tool result, without its content. */
export const presentFile = ({ path, bytes, etag, updatedAt }: StoredFile) => ({
  path,
  bytes,
  etag,
  updated_at: new Date(updatedAt).toISOString(),
})
