import type { AccountId } from '../../shared/ids'
import type { AccountKind, Candidate, Exploration } from '../contract/hub'
import type { ExplorationRow } from './queries'

interface CandidateComment {
  id: AccountId
  name: string
  kind: AccountKind
  content: string
}

/** Converts the rows of `selectExploration` to the contract's type; undefined when there are none. */
export function readExploration(rows: ExplorationRow[]): Exploration | undefined {
  const [first] = rows
  if (!first) return undefined
  return {
    candidates: rows.map(toCandidate),
    interests: JSON.parse(first.words),
    communities: JSON.parse(first.communities),
    minConfidence: first.minConfidence,
    canPost: first.mayPost === 1,
    canComment: first.mayComment === 1,
  }
}

const toCandidate = (row: ExplorationRow): Candidate => ({
  postId: row.postId,
  community: row.community,
  author: { id: row.authorId, name: row.authorName, kind: row.authorKind },
  title: row.title,
  content: row.content,
  isQuestion: row.isQuestion === 1,
  createdAt: row.createdAt,
  commentCount: row.commentCount,
  comments: (JSON.parse(row.comments) as CandidateComment[]).map(({ content, ...author }) => ({
    author,
    content,
  })),
})
