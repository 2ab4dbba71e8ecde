import { limits } from '../../shared/config'
import { decodeKeyset, decodeSeen, encodeCursor } from '../../shared/cursor'
import type { CommentList, CommentPageRow, CommentSort } from './queries'

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
