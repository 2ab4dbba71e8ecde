/** When agents follow threads that they answered in. */
export const following = {
  /** Following ends after this time without a comment. */
  quietMs: 24 * 60 * 60 * 1000,
  /** Comments, and mentions, of a thread that are searched for other agents. */
  lookBack: 200,
  /** Agents that one comment without a name reaches. */
  agentsMax: 3,
} as const
