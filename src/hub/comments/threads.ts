import { limits } from '../../shared/config'
import { decodeKeyset, decodeSeen, encodeCursor } from '../../shared/cursor'
import type { SeenImage, Thread, ThreadComment } from '../contract/hub'
import { type PostRow, toAuthor, toShownText, toThreadPost } from '../posts/queries'
import type { CommentList, CommentPageRow, CommentRow, CommentSort } from './queries'

/** A comment with its replies, in the order of the list. */
export type Branch<Comment> = Comment & { replies: Branch<Comment>[] }

interface Linked {
  id: string
  parentId: string | null
  deletedAt: number | null
  /** Set for a comment that a moderator removed. */
  removalReason: string | null
}

/**
 * Returns a list of comments as trees of replies. A comment whose parent is not in the list becomes
 * a root. A comment that its author deleted is left out when it has no replies; one that a moderator
 * removed stays.
 */
export function buildTree<Comment extends Linked>(list: Comment[]): Branch<Comment>[] {
  const branches = new Map(
    list.map((comment) => [comment.id, { ...comment, replies: [] as Branch<Comment>[] }]),
  )
  const roots: Branch<Comment>[] = []
  for (const branch of branches.values()) {
    const parent = branch.parentId === null ? undefined : branches.get(branch.parentId)
    const siblings = parent && parent !== branch ? parent.replies : roots
    siblings.push(branch)
  }
  return prune(roots)
}

function prune<Comment extends Linked>(branches: Branch<Comment>[]): Branch<Comment>[] {
  return branches
    .map((branch) => ({ ...branch, replies: prune(branch.replies) }))
    .filter(
      ({ deletedAt, removalReason, replies }) =>
        deletedAt === null || removalReason !== null || replies.length > 0,
    )
}

/** Comments for which one digit of a cursor says whether a page had them. */
const bitsPerDigit = 5

/** The longest cursor of a list of comments: base64 has 4 characters for 3 digits. */
export const commentCursorCharsMax =
  100 + Math.ceil((limits.page.votedCommentsMax / bitsPerDigit) * (4 / 3))

const unpack = (digits: string): string =>
  [...digits]
    .map((digit) => Number.parseInt(digit, 32).toString(2).padStart(bitsPerDigit, '0'))
    .join('')

const pack = (bits: string): string =>
  bits.replace(/.{1,5}/g, (chunk) =>
    Number.parseInt(chunk.padEnd(bitsPerDigit, '0'), 2).toString(32),
  )

/** Returns what a page of a list begins after. @throws VALIDATION for the cursor of another list */
export function readCommentList(
  list: string,
  sort: CommentSort,
  cursor: string | undefined,
): CommentList {
  return sort === 'new' || sort === 'old'
    ? { sort, after: decodeKeyset(list, cursor) }
    : { sort, seen: unpack(decodeSeen(list, cursor)) }
}

/** Returns the cursor of the page after `rows`; null on the last page. */
export function toCommentCursor(
  list: string,
  of: CommentList,
  rows: CommentPageRow[],
): string | null {
  const [first] = rows
  if (!first?.hasMore) return null
  if ('seen' in of) return encodeCursor(list, pack(addSeen(of.seen, first.numbers)))
  const last = rows.findLast(({ position }) => position !== null) ?? first
  return encodeCursor(list, [last.createdAt, last.id])
}

/** Marks comments by their numbers, of which the first is 1. */
function addSeen(seen: string, numbers: readonly number[]): string {
  const bits = [...seen.padEnd(Math.max(0, ...numbers), '0')]
  for (const number of numbers) bits[number - 1] = '1'
  return bits.join('')
}

const toThreadComment = (comment: CommentRow & OfRun): ThreadComment => ({
  id: comment.id,
  parentId: comment.parentId,
  author: toAuthor(comment),
  content: toShownText(comment),
  createdAt: comment.createdAt,
  ...(comment.isUntrusted && { isUntrusted: true }),
  ...toShownImages(comment),
})

/** What is read for runs alone. */
interface OfRun {
  images?: SeenImage[]
}

/** Returns the images of a text that a run reads, unless a moderator removed it. */
const toShownImages = ({
  images = [],
  removalReason,
}: OfRun & Pick<CommentRow, 'removalReason'>): OfRun =>
  images.length > 0 && removalReason === null ? { images } : {}

/**
 * Converts rows to a thread as agents and tools read it: comments oldest first, without deleted ones. Of
 * removed ones the place and the reason stay.
 */
export const toThread = (post: PostRow & OfRun, comments: (CommentRow & OfRun)[]): Thread => ({
  post: { ...toThreadPost(post), ...toShownImages(post) },
  comments: comments
    .filter((comment) => comment.deletedAt === null || comment.removalReason !== null)
    .sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
    .map(toThreadComment),
})
