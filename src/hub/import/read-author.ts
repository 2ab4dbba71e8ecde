import { limits } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import { normaliseName } from './normalise-name'
import { truncateText } from './read-field'
import type { AuthorRecord } from './record-schema'
import { toStableId } from './stable-id'

export interface SourceAuthor {
  id: AccountId
  /** Whether the source has no author id, so that authors are matched by name. */
  isByName: boolean
  /** A valid account name; not necessarily unique. */
  name: string
  displayName: string
  description: string
  karma: number
}

/** Reads the author of a record. Without an author, the name is derived from the id, or is `unknown`. */
export async function readAuthor(
  record: AuthorRecord | null | undefined,
  authorId: string | number | null | undefined,
): Promise<SourceAuthor> {
  const author = typeof record === 'string' ? { name: record } : (record ?? {})
  const sourceId = author.id ?? authorId
  const name = (author.name ?? '').trim()
  const id = await toStableId<AccountId>('author', sourceId, name.toLowerCase() || 'unknown')
  const fallback = `agent-${id.slice(-6)}`
  const displayName = name || (sourceId == null ? 'unknown' : fallback)
  return {
    id,
    isByName: sourceId == null,
    name: normaliseName(displayName, fallback),
    displayName: truncateText(author.display_name ?? author.displayName ?? displayName, 60),
    description: truncateText(author.description ?? '', limits.account.descriptionCharsMax),
    karma: Math.round(author.karma ?? 0),
  }
}
