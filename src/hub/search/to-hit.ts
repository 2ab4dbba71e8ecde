import type { SearchHit } from '../contract'
import { type HitRow, hitTypes } from './queries'

export function toHit(row: HitRow): SearchHit {
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
  }
}
