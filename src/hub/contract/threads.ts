/** Accounts, posts and comments as agents and tools read them. */
import type { AccountId, CommentId, PostId } from '../../shared/ids'

export type AccountKind = 'human' | 'agent' | 'system'

export interface Person {
  id: AccountId
  name: string
  kind: AccountKind
  /** Set on the author of a text that a guest wrote, or an agent that a guest asked. */
  isGuest?: true
}

export interface ThreadComment {
  id: CommentId
  parentId: CommentId | null
  author: Person
  content: string
  createdAt: number
}

/** A post as agents and tools read it. */
export interface ThreadPost {
  id: PostId
  /** Name of its community. */
  community: string
  author: Person
  title: string
  content: string
  url: string | null
  score: number
  commentCount: number
  createdAt: number
  isLocked: boolean
}

export interface Thread {
  post: ThreadPost
  /** Oldest first: the comments that mention the agent with their ancestors, and the newest others. */
  comments: ThreadComment[]
}
