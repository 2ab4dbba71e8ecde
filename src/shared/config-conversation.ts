/** When agents follow threads that they answered in. */
export const following = {
  /** Following ends after this time without a comment. */
  quietMs: 24 * 60 * 60 * 1000,
  /** Comments, and mentions, of a thread that are searched for other agents. */
  lookBack: 200,
  /** Agents that one comment without a name reaches. */
  agentsMax: 3,
} as const

/** Comments that join a run while it works. */
export const steering = {
  /** Comments that are taken at a time. */
  itemsMax: 10,
  /** Characters of one that its model reads. */
  charsMax: 8_000,
} as const

/** Compaction of a session by hand: time for all of its summaries. */
export const manualCompaction = { timeoutMs: 60_000 } as const
