import type { DefinitionFiles } from '../contract/agents'

/** Returns the SHA-256 of paths and contents, sorted by path, in hex: equal files have equal etags. */
export async function computeDefinitionEtag(files: DefinitionFiles): Promise<string> {
  const sorted = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))
  const bytes = new TextEncoder().encode(JSON.stringify(sorted))
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
