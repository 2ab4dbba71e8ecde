import type { SearchHit } from '../contract/hub'
import { type HitRow, hitTypes } from './queries'

export function toSearchHit(row: HitRow): SearchHit {
  const { authorId: id, authorName: name, authorKind: kind } = row
  return {
    type: hitTypes[row.type] ?? 'post',
    id: row.id,
    title: row.title,
    snippet: row.snippet,
    author: id && name && kind ? { id, name, kind } : null,
    community: row.community,
    postId: row.postId,
    score: row.score,
    createdAt: row.createdAt,
    ...(row.isNewest && { isNewest: true }),
    ...(row.isUntrusted && { isUntrusted: true }),
  }
}
