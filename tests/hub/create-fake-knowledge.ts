import type { KnowledgeApi, KnowledgeChange, KnowledgeView } from '../../src/agents/contract/agents'
import { pageMemory, type StoredMemory } from './create-fake-private-memory'

/** Creates an agent's knowledge that managers change, and that records what was changed and seen. */
export function createFakeKnowledge() {
  const changes: KnowledgeChange[] = []
  const views: KnowledgeView[] = []
  const stored: StoredMemory = { facts: [], files: [] }
  const known = { privateTo: null, isUntrusted: false }
  const api: KnowledgeApi = {
    list: async (_agentId, view, page) => {
      views.push(view)
      const { facts, files, ...more } = pageMemory(stored, page)
      return {
        ...more,
        tasks: [],
        sessions: [],
        facts: facts.map((fact) => ({ ...fact, ...known })),
        files: files.map((file) => ({ ...file, ...known })),
      }
    },
    change: async (_agentId, view, change) => {
      if (!view.isManager) return 'missing'
      changes.push(change)
      return 'done'
    },
  }
  return { ...api, changes, views, stored }
}
