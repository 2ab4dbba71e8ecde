import type { SchedulerView } from '../../agents/contract/agents'
import type { GateKey, GateState } from './gate-labels'
import type { QuietFacts } from './queries'

/** One gate: whether it lets the agent through, why, and what opens it. */
export interface Gate {
  key: GateKey
  state: GateState
  /** The fact that decides, as a sentence. */
  fact: string
  /** What to do; null for an open gate. */
  fix: string | null
  /** A page where that can be done or seen. */
  link: string | null
}

/** What the gates are decided from, besides the reads. */
export interface GateContext {
  facts: QuietFacts & { agent: NonNullable<QuietFacts['agent']> }
  /** Null when the scheduler does not respond. */
  scheduler: SchedulerView | null
  /** Why the agent's model cannot be called; null: it can. */
  modelProblem: { message: string; isFinal: boolean } | null
  /** Who sees amounts of a requester's budget: the requester and admins. */
  viewer: { id: string; isAdmin: boolean } | null
  now: number
}

/** A gate without its key. */
export type Made = Omit<Gate, 'key'>
export type Maker = (context: GateContext) => Made | null

export const open = (fact: string, link: string | null = null): Made => ({
  state: 'open',
  fact,
  fix: null,
  link,
})
export const closed = (fact: string, fix: string, link: string | null = null): Made => ({
  state: 'closed',
  fact,
  fix,
  link,
})
