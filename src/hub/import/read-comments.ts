import { limits } from '../../config'
import { readAuthor, type SourceAuthor } from './read-author'
import { describe, readTime } from './read-field'
import { type CommentRecord, commentRecord } from './record-schema'
import { toStableId } from './stable-id'

export interface SourceComment {
  id: string
  postId: string
  parentId: string | null
  depth: number
  author: SourceAuthor
  content: string
  upvotes: number
  downvotes: number
  createdAt: number
  /** A deleted or empty one keeps its place for the sake of its answers. */
  isDeleted: boolean
}

interface Parent {
  id: string | null
  /** Of the comment that answers to it. */
  depth: number
}

interface Unread {
  raw: unknown
  parent: Parent
}

/**
 * The comments of a post, parents before their answers, whether they come nested or as a list with
 * `parent_id`. A broken one is reported; its answers move up to what it answered.
 */
export async function readComments(
  list: unknown[],
  post: { postId: string; createdAt: number },
): Promise<{ comments: SourceComment[]; problems: { id: string | null; reason: string }[] }> {
  const comments: SourceComment[] = []
  const problems: { id: string | null; reason: string }[] = []
  const seen = new Map<string, SourceComment>()
  // A stack of our own: an archive may nest deeper than ours can.
  const unread: Unread[] = list.map((raw) => ({ raw, parent: { id: null, depth: 0 } })).reverse()
  for (let next = unread.pop(); next; next = unread.pop()) {
    const { raw, parent } = next
    const parsed = commentRecord.safeParse(raw)
    if (!parsed.success) problems.push({ id: readId(raw), reason: describe(parsed.error) })
    const comment = parsed.success
      ? await toComment(parsed.data, post, findParent(seen, parsed.data, parent))
      : null
    if (comment && !seen.has(comment.id)) {
      seen.set(comment.id, comment)
      comments.push(comment)
    }
    const below = comment ? placeBelow(comment) : parent
    for (const reply of readReplies(raw).reverse()) unread.push({ raw: reply, parent: below })
  }
  return { comments: comments.filter(hasPlace(comments)), problems }
}

/** Answers to the deepest level become its siblings, as for new comments. */
const placeBelow = (comment: SourceComment): Parent =>
  comment.depth >= limits.comment.depthMax
    ? { id: comment.parentId, depth: comment.depth }
    : { id: comment.id, depth: comment.depth + 1 }

/** In a flat list the parent is named; it counts when we have seen it. */
function findParent(
  seen: Map<string, SourceComment>,
  record: CommentRecord,
  nested: Parent,
): Parent {
  const named = record.parent_id ?? record.parentId
  const comment = nested.id === null && named != null ? seen.get(String(named).toLowerCase()) : null
  return comment ? placeBelow(comment) : nested
}

async function toComment(
  record: CommentRecord,
  post: { postId: string; createdAt: number },
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

/** Deleted comments stay only where something answers them. */
function hasPlace(comments: SourceComment[]): (comment: SourceComment) => boolean {
  const answered = new Set(comments.map(({ parentId }) => parentId))
  return (comment) => !comment.isDeleted || answered.has(comment.id)
}
