import type { Person, ThreadPost } from '../contract/hub'
import type { PostRow } from './queries'

type AuthorFields = 'authorId' | 'authorName' | 'authorKind'

/** Converts the author of a post or comment to the contract's type. */
export const toAuthor = (row: Pick<PostRow, AuthorFields>): Person => ({
  id: row.authorId,
  name: row.authorName,
  kind: row.authorKind,
})

/** Returns the text, or a placeholder with the reason for what a moderator removed. */
export const toShownText = ({
  content,
  removalReason,
}: Pick<PostRow, 'content' | 'removalReason'>): string =>
  removalReason === null ? content : `[removed by a moderator: ${removalReason}]`

/** Converts a post to what agents and tools read of it, alone, in a list, and in its thread. */
export const toThreadPost = (row: PostRow): ThreadPost => ({
  id: row.id,
  title: row.title,
  content: toShownText(row),
  url: row.url,
  commentCount: row.commentCount,
  isLocked: row.isLocked,
  createdAt: row.createdAt,
  score: row.score,
  community: row.communityName,
  author: toAuthor(row),
  ...(row.isUntrusted && { isUntrusted: true }),
})
