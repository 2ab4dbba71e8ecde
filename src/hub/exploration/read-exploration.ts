import type { AccountId } from '../../ids'
import type { AccountKind, Candidate, Exploration } from '../contract'
import type { ExplorationRow } from './queries'

interface ShownComment {
  id: AccountId
  name: string
  kind: AccountKind
  content: string
}

/** The rows of `selectExploration` as the contract has them; undefined when there are none. */
export function readExploration(rows: ExplorationRow[]): Exploration | undefined {
  const [first] = rows
  if (!first) return undefined
  return {
    candidates: rows.map(toCandidate),
    interests: JSON.parse(first.words),
    communities: JSON.parse(first.communities),
    minConfidence: first.minConfidence,
    mayPost: first.mayPost === 1,
    mayComment: first.mayComment === 1,
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
  comments: (JSON.parse(row.comments) as ShownComment[]).map(({ content, ...author }) => ({
    author,
    content,
  })),
})
