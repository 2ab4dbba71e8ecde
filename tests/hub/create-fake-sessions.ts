import type { SessionApi, SessionSnapshot } from '../../src/agents/contract/agents'

/** Creates an in-memory session API that stores snapshots unchanged. */
export function createFakeSessions(): SessionApi {
  const stored = new Map<string, SessionSnapshot>()
  const totals = {
    activations: 0,
    inputTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    costMicrousd: 0,
  }
  return {
    list: async () => ({
      sessions: [...stored.values()].map(({ messages, ...facts }) => ({
        ...facts,
        messageCount: messages.length,
      })),
      totals,
      tools: [],
    }),
    read: async (_agentId, id) => stored.get(id) ?? null,
    restore: async (_agentId, id, snapshot) => {
      stored.set(id, snapshot)
      return true
    },
    reset: async (_agentId, id) => stored.delete(id),
    compact: async (_agentId, id) => {
      const messages = stored.get(id)?.messages.length
      return messages === undefined ? null : { replaced: 0, messages }
    },
  }
}
