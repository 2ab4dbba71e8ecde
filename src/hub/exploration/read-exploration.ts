import type { Candidate, Exploration } from '../contract/hub'
import type { ExplorationRow } from './queries'

/** Converts the rows of `selectExploration` to the contract's type; undefined when there are none. */
export function readExploration(rows: ExplorationRow[]): Exploration | undefined {
  const [first] = rows
  if (!first) return undefined
  return {
    candidates: rows.map(toCandidate),
    interests: first.words,
    communities: first.communities,
    minConfidence: first.minConfidence,
    canPost: first.canPost,
    canComment: first.canComment,
  }
}

const toCandidate = (row: ExplorationRow): Candidate => ({
  postId: row.postId,
  community: row.community,
  author: { id: row.authorId, name: row.authorName, kind: row.authorKind },
  title: row.title,
  content: row.content,
  isQuestion: row.isQuestion,
  createdAt: row.createdAt,
  commentCount: row.commentCount,
  comments: row.comments.map(({ content, ...author }) => ({ author, content })),
})
