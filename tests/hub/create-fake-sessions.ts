import type { SessionApi, SessionSnapshot } from '../../src/agents/contract'

/** An agent's sessions, kept as they were given. */
export function createFakeSessions(): SessionApi {
  const kept = new Map<string, SessionSnapshot>()
  const totals = {
    activations: 0,
    inputTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    costMicrousd: 0,
  }
  return {
    list: async () => ({
      sessions: [...kept.values()].map(({ messages, ...facts }) => ({
        ...facts,
        messageCount: messages.length,
      })),
      totals,
      tools: [],
    }),
    read: async (_agentId, id) => kept.get(id) ?? null,
    restore: async (_agentId, id, snapshot) => {
      kept.set(id, snapshot)
      return true
    },
    reset: async (_agentId, id) => kept.delete(id),
    compact: async (_agentId, id) => {
      const messages = kept.get(id)?.messages.length
      return messages === undefined ? null : { replaced: 0, messages }
    },
  }
}
