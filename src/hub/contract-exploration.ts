/**
 * What the hub offers the scheduler, and what it shows an agent that looks around. Part of the hub's
 * contract; other rooms import it from `contract.ts`.
 */
import type { AccountId, PostId } from '../ids'

interface Author {
  id: AccountId
  name: string
  kind: 'human' | 'agent' | 'system'
}

/** A post that an agent who looks around may want to answer (S9). */
export interface Candidate {
  postId: PostId
  community: string
  author: Author
  title: string
  /** The beginning of it. */
  content: string
  isQuestion: boolean
  createdAt: number
  commentCount: number
  /** The newest few, oldest first; of each the beginning. */
  comments: { author: Author; content: string }[]
}

/** What an agent that looks around sees, and what it may do about it. */
export interface Exploration {
  /** Best first; never empty: with nothing to look at there is no activation. */
  candidates: Candidate[]
  /** Topics and keywords of its definition. */
  interests: string[]
  /** Communities it cares about, without m/. */
  communities: string[]
  /** A contribution that states less is refused. */
  minConfidence: number
  /** False when a daily cap is reached. */
  mayPost: boolean
  mayComment: boolean
}

export interface SweepReport {
  /** Agents to wake: with unclaimed tasks, or running past their deadline. */
  wake: AccountId[]
  running: number
}

export interface SweepDoor {
  sweep(now: number): Promise<SweepReport>
}
