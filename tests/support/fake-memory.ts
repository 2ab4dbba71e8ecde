import type { MemoryApi } from '../../src/mcp-servers/contract/tools'

/** An agent's memory for tests of tools: one fact, one task and one skill, each with id 1. */
export const fakeMemory: MemoryApi = {
  rememberFact: async () => ({ id: 1 }),
  forgetFact: async (_agentId, { id }) => id === 1,
  listFacts: async () => ({
    facts: [{ id: 1, text: 'Ada keeps the keys.', source: 'ada', createdAt: 0 }],
    factCount: 1,
    tasks: [{ id: 1, text: 'Tell Ada.', createdAt: 0 }],
  }),
  addTask: async () => ({ id: 1 }),
  completeTask: async (_agentId, { id }) =>
    id === 1 ? { id, text: 'Tell Ada.', createdAt: 0 } : null,
  readSkill: async (_agentId, name) => (name === 'keys' ? 'Keys stay in the gateway.' : null),
}
