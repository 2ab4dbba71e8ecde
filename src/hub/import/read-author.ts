import { limits } from '../../shared/config'
import { type Note, readCount, readText } from './read-field'
import type { AuthorRecord } from './record-schema'
import { hasId, toSourceKey } from './source-key'

export interface SourceAuthor {
  key: string
  /**
   * The key of authors who have this name and no id. An author with an id is found under both, because archives
   * name the same author with and without it.
   */
  nameKey: string
  /** The name at the source; '' when there is none. */
  name: string
  displayName: string
  description: string
  karma: number
}

/** Reads the author of a record. Authors without id and name are one, `unknown`. */
export async function readAuthor(
  record: AuthorRecord | null | undefined,
  authorId: string | number | null | undefined,
  note: Note,
): Promise<SourceAuthor> {
  const author = typeof record === 'string' ? { name: record } : (record ?? {})
  const sourceId = hasId(author.id) ? author.id : authorId
  const name = readText((author.name ?? '').trim(), 'name of the author', 100, note)
  const identity = name.toLowerCase() || 'unknown'
  const key = await toSourceKey('author', sourceId, identity)
  const isNameless = name === '' && hasId(sourceId)
  const shown = (author.display_name ?? author.displayName ?? '').trim() || name
  return {
    key,
    nameKey: isNameless ? key : await toSourceKey('author', null, identity),
    name: isNameless ? '' : name || 'unknown',
    displayName: readText(shown, 'display name of the author', 60, note),
    description: readText(
      author.description ?? '',
      'description of the author',
      limits.account.descriptionCharsMax,
      note,
    ),
    karma: readCount(author.karma, 'points of the author', note, -1),
  }
}
