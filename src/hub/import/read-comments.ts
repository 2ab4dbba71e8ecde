import { importLimits } from '../../shared/config'
import { isUuid } from '../../shared/ids'
import { quote, type RecordReport, type SourceId } from './import-report'
import { readAuthor, type SourceAuthor } from './read-author'
import { formatIssues, parseTime, readCount, readText, readTime } from './read-field'
import { type CommentRecord, commentRecord } from './record-schema'
import { hasId, toSourceKey } from './source-key'

/**
 * The key of a comment, and the key that it had in an earlier version of the hub. An id counts within its post, because
 * some sources number the comments of each post.
 */
export type CommentKeys = readonly [string, ...string[]]

export interface SourceComment {
  /** Of the comment at its source, for the report. */
  sourceId: SourceId
  keys: CommentKeys
  /** Keys of the comment that it replies to; null for the post. */
  parentKeys: CommentKeys | null
  author: SourceAuthor
  content: string
  upvotes: number
  downvotes: number
  createdAt: number
  /** Deleted or empty. The comment is kept only when it has replies. */
  isDeleted: boolean
}

interface Post {
  id: SourceId
  key: string
  /** As its source says it; null when it does not. */
  sourceTime: number | null
  createdAt: number
}

/** What is read of a request. */
export interface Reading {
  now: number
  /** Comments that may still be read. */
  commentsLeft: number
}

interface Unread {
  raw: unknown
  /** Keys of the comment that it is nested in. */
  parentKeys: CommentKeys | null
}

/**
 * Returns the comments of a post, parents before their replies, from nested records or from a list with
 * `parent_id` in any order. Invalid comments are left out; replies nested in them move up to the comment above.
 */
export async function readComments(
  list: unknown[],
  post: Post,
  reading: Reading,
  report: RecordReport,
): Promise<SourceComment[]> {
  const comments = new Map<string, SourceComment>()
  // An explicit stack, because an archive can be nested deeper than the call stack allows.
  const unread: Unread[] = list.map((raw) => ({ raw, parentKeys: null })).reverse()
  for (let next = unread.pop(); next; next = unread.pop()) {
    if (reading.commentsLeft === 0) {
      report.skip(post.id, skipReasons.tooMany)
      break
    }
    reading.commentsLeft--
    const comment = await readComment(next, post, reading.now, report)
    if (comment) addComment(comments, comment, report)
    const parentKeys = comment?.keys ?? next.parentKeys
    for (const raw of readReplies(next.raw).reverse()) unread.push({ raw, parentKeys })
  }
  await freeFromPost(comments, post)
  return keepComments(orderComments(comments, report), report)
}

/** Why the import skips a comment, as admins read it. */
const skipReasons = {
  tooMany: `The rest of its comments were left out: a request has at most ${importLimits.commentsMax}. Import the post again in a request of its own.`,
  sameId: 'Comment: Another comment of the post has the same id.',
  twice: 'Comment: It is in the post twice, with the same date.',
  empty: 'Comment: It is empty, or was deleted at its source.',
}

async function readComment(
  { raw, parentKeys: nested }: Unread,
  post: Post,
  now: number,
  report: RecordReport,
): Promise<SourceComment | null> {
  const parsed = commentRecord.safeParse(raw)
  if (!parsed.success) {
    report.skip(readId(raw), `Comment: ${formatIssues(parsed.error)}`)
    return null
  }
  const { data: record } = parsed
  const note = (reason: string) => report.change(record.id ?? post.id, `Comment: ${reason}`)
  const time = record.created_at ?? record.createdAt
  const content = readText(record.content ?? '', 'text', importLimits.textCharsMax, note)
  const parentKeys = nested ?? (await readParent(record, post))
  const at = parseTime(time) ?? post.sourceTime
  const identity = JSON.stringify([post.key, parentKeys?.at(-1) ?? null, content, at])
  return {
    sourceId: record.id,
    keys: await toKeys(record.id, post, identity),
    parentKeys,
    author: await readAuthor(record.author, record.author_id, note),
    content,
    upvotes: readCount(record.upvotes, 'upvotes', note),
    downvotes: readCount(record.downvotes, 'downvotes', note),
    createdAt: readTime(time, now, note) ?? post.createdAt,
    isDeleted: record.is_deleted === true || content.trim() === '',
  }
}

async function toKeys(id: SourceId, post: Post, identity: string): Promise<CommentKeys> {
  const key = await toSourceKey('comment', id, identity)
  if (!hasId(id) || isUuid(String(id))) return [key]
  return [await toSourceKey('comment', null, JSON.stringify([post.key, String(id)])), key]
}

/** What sources write as the parent of a comment that has none. */
const noParent = ['', '0', '-1', 'false', 'null']

/** Returns the keys of the comment that a record of a flat list names as its parent; null for none. */
async function readParent(record: CommentRecord, post: Post): Promise<CommentKeys | null> {
  const named = record.parent_id ?? record.parentId
  return named == null || noParent.includes(String(named)) ? null : toKeys(named, post, '')
}

/** Some sources write the id of the post as the parent of its comments; a comment can have the same id. */
async function freeFromPost(comments: Map<string, SourceComment>, post: Post): Promise<void> {
  if (!hasId(post.id)) return
  const [key] = await toKeys(post.id, post, '')
  if (comments.has(key)) return
  for (const comment of comments.values()) {
    if (comment.parentKeys?.[0] === key) comment.parentKeys = null
  }
}

function addComment(
  comments: Map<string, SourceComment>,
  comment: SourceComment,
  report: RecordReport,
): void {
  const [key] = comment.keys
  const first = comments.get(key)
  if (!first) {
    comments.set(key, comment)
    return
  }
  // Some sources list a comment twice: flat, and nested in its parent.
  first.parentKeys ??= comment.parentKeys?.[0] === key ? null : comment.parentKeys
  if (first.content !== comment.content) report.skip(comment.sourceId, skipReasons.sameId)
  else if (!hasId(comment.sourceId)) {
    report.skip(null, `${skipReasons.twice} ${quote(comment.content)}`)
  }
}

function readReplies(raw: unknown): unknown[] {
  const replies = typeof raw === 'object' && raw !== null && 'replies' in raw ? raw.replies : null
  return Array.isArray(replies) ? [...replies] : []
}

function readId(raw: unknown): SourceId {
  const id = typeof raw === 'object' && raw !== null && 'id' in raw ? raw.id : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** Leaves out deleted comments below which nothing is left. @param comments parents before their replies */
function keepComments(comments: SourceComment[], report: RecordReport): SourceComment[] {
  const parents = new Set<string>()
  const kept = comments.toReversed().filter((comment) => {
    const isKept = !comment.isDeleted || parents.has(comment.keys[0])
    if (!isKept) report.skip(comment.sourceId, skipReasons.empty)
    else if (comment.parentKeys) parents.add(comment.parentKeys[0])
    return isKept
  })
  return kept.reverse()
}

/**
 * Returns comments with parents before their replies, else in the order of the archive. Of comments that are replies to
 * one another in a circle, one becomes a comment on the post.
 *
 * @param comments by their first key
 */
function orderComments(
  comments: Map<string, SourceComment>,
  report: RecordReport,
): SourceComment[] {
  const replies = Map.groupBy(comments.values(), ({ parentKeys }) => parentKeys?.[0])
  const ordered = new Set<SourceComment>()
  const addWithReplies = (root: SourceComment) => {
    const waiting = [root]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if (ordered.has(next)) continue
      ordered.add(next)
      for (const reply of (replies.get(next.keys[0]) ?? []).toReversed()) waiting.push(reply)
    }
  }
  for (const comment of comments.values()) {
    if (!comments.has(comment.parentKeys?.[0] ?? '')) addWithReplies(comment)
  }
  for (const comment of comments.values()) {
    if (ordered.has(comment)) continue
    const first = findInCircle(comments, comment)
    first.parentKeys = null
    report.change(
      first.sourceId,
      'Comment: It is a reply to one of its own replies. It became a comment on the post.',
    )
    addWithReplies(first)
  }
  return [...ordered]
}

/** Follows the parents of a comment from which no way leads to the post, until one comes again. */
function findInCircle(comments: Map<string, SourceComment>, start: SourceComment): SourceComment {
  const seen = new Set<SourceComment>()
  let at = start
  while (!seen.has(at)) {
    seen.add(at)
    at = comments.get(at.parentKeys?.[0] ?? '') ?? at
  }
  return at
}
