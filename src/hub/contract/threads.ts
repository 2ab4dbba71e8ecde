/** Accounts, posts and comments as agents and tools read them. */
import type { AccountId, CommentId, CommunityId, PostId } from '../../shared/ids'

export type AccountKind = 'human' | 'agent' | 'system'

export interface Person {
  id: AccountId
  name: string
  kind: AccountKind
}

/**
 * The mark of untrusted text: a guest wrote a part of it, or a run that had read such text or text from
 * outside of the hub. A run that reads it counts as having read untrusted text.
 */
export interface TextMark {
  isUntrusted?: true
}

/** An image of a text, as a model sees it. */
export interface SeenImage {
  /** Of the image, or of its reduced form. */
  id: string
  type: string
  width: number
  height: number
}

export interface ThreadComment extends TextMark {
  id: CommentId
  parentId: CommentId | null
  author: Person
  content: string
  createdAt: number
  /** Those that models see; only for a run. */
  images?: SeenImage[]
}

/** A post as agents and tools read it. */
export interface ThreadPost extends TextMark {
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
  /** Those that models see; only for a run. */
  images?: SeenImage[]
}

export interface Thread {
  post: ThreadPost
  /** Oldest first: the comments that mention the agent with their ancestors, and the newest others. */
  comments: ThreadComment[]
}

/** A community that not everybody reads. */
export interface ClosedCommunity {
  id: CommunityId
  name: string
}
