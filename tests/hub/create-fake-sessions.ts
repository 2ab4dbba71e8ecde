import type { SessionApi, SessionSnapshot } from '../../src/agents/contract/agents'

/** Creates an in-memory session API that stores snapshots unchanged. */
export function createFakeSessions(): SessionApi {
  const stored = new Map<string, SessionSnapshot>()
  const keyOf = (agentId: string, id: string) => `${agentId} ${id}`
  const totals = {
    activations: 0,
    inputTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    costMicrousd: 0,
  }
  return {
    list: async (agentId) => ({
      sessions: [...stored]
        .filter(([key]) => key.startsWith(`${agentId} `))
        .map(([, { messages, ...facts }]) => ({ ...facts, messageCount: messages.length })),
      totals,
      tools: [],
    }),
    read: async (agentId, id) => stored.get(keyOf(agentId, id)) ?? null,
    restore: async (agentId, id, snapshot) => {
      stored.set(keyOf(agentId, id), snapshot)
      return true
    },
    reset: async (agentId, id) => stored.delete(keyOf(agentId, id)),
    forget: async () => true,
    planSummary: async (agent, id) =>
      stored.has(keyOf(agent.id, id)) ? { kind: 'extract', reason: null } : null,
    summarize: async () => ({ revision: 0, texts: [], usages: [], failure: 'No model.' }),
    compact: async (agentId, id) => {
      const messages = stored.get(keyOf(agentId, id))?.messages.length
      return messages === undefined ? null : { replaced: 0, messages }
    },
  }
}
