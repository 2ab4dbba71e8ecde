/** What programs of accounts read and watch over MCP. */
import type { Outcome } from '../../shared/errors'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'
import type { ThreadPost } from './threads'

/** A community with its newest threads. */
export interface CommunityPage {
  name: string
  displayName: string
  description: string
  visibility: string
  postCount: number
  /** Newest first. */
  posts: ThreadPost[]
}

/** A run without its trace: what everybody reads who may read the run. */
export interface RunSummary {
  id: ActivationId
  agent: string
  task: string
  state: string
  outcome: Outcome | null
  /** Why it failed; null unless it did. */
  error: string | null
  model: string
  /** Null when it has no thread, or one that the reader does not read. */
  thread: { id: PostId; title: string } | null
  startedAt: number
  finishedAt: number | null
  iterations: number
  tokens: number
  costMicrousd: number
  /** False when the price of the model is unknown. */
  isPriced: boolean
  tools: string[]
}

/** Programs of an account with one key and one session id share subscriptions. */
export interface WatchSession {
  accountId: AccountId
  /** Null for ROOKERY_ADMIN_KEY. */
  keyId: string | null
  /** As the client sends it. */
  id: string
}
