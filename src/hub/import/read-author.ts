import { limits } from '../../config'
import { normaliseName } from './normalise-name'
import { cut } from './read-field'
import type { AuthorRecord } from './record-schema'
import { toStableId } from './stable-id'

export interface SourceAuthor {
  id: string
  /** The source gave no id: somebody imported under the same name is the same. */
  isByName: boolean
  /** In the form that names have here; not yet unique. */
  name: string
  displayName: string
  description: string
  karma: number
}

/** Who wrote it; a record without an author gets one called after the id it gives, or `unknown`. */
export async function readAuthor(
  given: AuthorRecord | null | undefined,
  authorId: string | number | null | undefined,
): Promise<SourceAuthor> {
  const author = typeof given === 'string' ? { name: given } : (given ?? {})
  const sourceId = author.id ?? authorId
  const name = (author.name ?? '').trim()
  const id = await toStableId('author', sourceId, name.toLowerCase() || 'unknown')
  const fallback = `agent-${id.slice(-6)}`
  const called = name || (sourceId == null ? 'unknown' : fallback)
  return {
    id,
    isByName: sourceId == null,
    name: normaliseName(called, fallback),
    displayName: cut(author.display_name ?? author.displayName ?? called, 60),
    description: cut(author.description ?? '', limits.account.descriptionCharsMax),
    karma: Math.round(author.karma ?? 0),
  }
}
