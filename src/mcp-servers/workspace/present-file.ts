import type { StoredFile } from '../storage/workspace'

/** Converts a stored file to a tool result, without its content. */
export const presentFile = ({
  path,
  bytes,
  etag,
  updatedAt,
  isPrivate,
  isUntrusted,
}: StoredFile) => ({
  path,
  bytes,
  etag,
  updated_at: new Date(updatedAt).toISOString(),
  ...(isPrivate && { private: true }),
  ...(isUntrusted && { from_outside_or_guest: true }),
})
