import { limits } from '../../shared/config'
import type { CommentId, PostId } from '../../shared/ids'
import { readAuthor, type SourceAuthor } from './read-author'
import { formatIssues, readTime } from './read-field'
import { type CommentRecord, commentRecord } from './record-schema'
import { toStableId } from './stable-id'

export interface SourceComment {
  id: CommentId
  postId: PostId
  parentId: CommentId | null
  depth: number
  author: SourceAuthor
  content: string
  upvotes: number
  downvotes: number
  createdAt: number
  /** Deleted or empty. The comment is kept only when it has replies. */
  isDeleted: boolean
}

interface Parent {
  id: CommentId | null
  /** Depth of a reply to this parent. */
  depth: number
}

interface Unread {
  raw: unknown
  parent: Parent
}

/**
 * Returns the comments of a post, parents before their replies, from nested records or from a list with
 * `parent_id`. An invalid comment is listed in `problems`; its replies move up to its parent.
 */
export async function readComments(
  list: unknown[],
  post: { postId: PostId; createdAt: number },
): Promise<{ comments: SourceComment[]; problems: { id: string | null; reason: string }[] }> {
  const comments: SourceComment[] = []
  const problems: { id: string | null; reason: string }[] = []
  const seen = new Map<string, SourceComment>()
  // An explicit stack, because an archive can be nested deeper than the call stack allows.
  const unread: Unread[] = list.map((raw) => ({ raw, parent: { id: null, depth: 0 } })).reverse()
  for (let next = unread.pop(); next; next = unread.pop()) {
    const { raw, parent } = next
    const parsed = commentRecord.safeParse(raw)
    if (!parsed.success) problems.push({ id: readId(raw), reason: formatIssues(parsed.error) })
    const comment = parsed.success
      ? await toComment(parsed.data, post, findParent(seen, parsed.data, parent))
      : null
    if (comment && !seen.has(comment.id)) {
      seen.set(comment.id, comment)
      comments.push(comment)
    }
    const replyParent = comment ? toParent(comment) : parent
    for (const reply of readReplies(raw).reverse()) unread.push({ raw: reply, parent: replyParent })
  }
  return { comments: comments.filter(isKept(comments)), problems }
}

/** Replies below the maximum depth become siblings, as for new comments. */
const toParent = (comment: SourceComment): Parent =>
  comment.depth >= limits.comment.depthMax
    ? { id: comment.parentId, depth: comment.depth }
    : { id: comment.id, depth: comment.depth + 1 }

/** Returns the parent named by a record of a flat list, if it was read already; otherwise `nested`. */
function findParent(
  seen: Map<string, SourceComment>,
  record: CommentRecord,
  nested: Parent,
): Parent {
  const named = record.parent_id ?? record.parentId
  const comment = nested.id === null && named != null ? seen.get(String(named).toLowerCase()) : null
  return comment ? toParent(comment) : nested
}

async function toComment(
  record: CommentRecord,
  post: { postId: PostId; createdAt: number },
  parent: Parent,
): Promise<SourceComment> {
  const content = (record.content ?? '').slice(0, limits.storedRowBytesMax / 4)
  const createdAt = readTime(record.created_at ?? record.createdAt) ?? post.createdAt
  const identity = JSON.stringify([post.postId, parent.id, content, createdAt])
  return {
    id: await toStableId('comment', record.id, identity),
    postId: post.postId,
    parentId: parent.id,
    depth: parent.depth,
    author: await readAuthor(record.author, record.author_id),
    content,
    upvotes: Math.max(0, record.upvotes ?? 0),
    downvotes: Math.max(0, record.downvotes ?? 0),
    createdAt,
    isDeleted: record.is_deleted === true || content.trim() === '',
  }
}

function readReplies(raw: unknown): unknown[] {
  const replies = typeof raw === 'object' && raw !== null && 'replies' in raw ? raw.replies : null
  return Array.isArray(replies) ? [...replies] : []
}

function readId(raw: unknown): string | null {
  const id = typeof raw === 'object' && raw !== null && 'id' in raw ? raw.id : null
  return typeof id === 'string' ? id.slice(0, 100) : null
}

/** Returns a filter that drops deleted comments without replies. */
function isKept(comments: SourceComment[]): (comment: SourceComment) => boolean {
  const parentIds = new Set(comments.map(({ parentId }) => parentId))
  return (comment) => !comment.isDeleted || parentIds.has(comment.id)
}
