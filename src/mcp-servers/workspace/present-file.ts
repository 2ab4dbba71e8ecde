import type { StoredFile } from '../storage/workspace'

/** Converts a stored file to a tool result, without its content. */
export const presentFile = ({ path, bytes, etag, updatedAt, isPrivate }: StoredFile) => ({
  path,
  bytes,
  etag,
  updated_at: new Date(updatedAt).toISOString(),
  ...(isPrivate && { private: true }),
})
