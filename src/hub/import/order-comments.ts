import type { RecordReport } from './import-report'
import type { SourceComment } from './read-comments'

/**
 * Returns comments with parents before their replies, else in the order of the archive. Of comments that are replies to
 * one another in a circle, one becomes a comment on the post.
 *
 * @param comments by their first key
 */
export function orderComments(
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
