import type {
  AgentKnowledge,
  KnowledgeApi,
  KnowledgeChange,
  KnowledgeView,
} from '../../src/agents/contract/agents'

const nothing: AgentKnowledge = {
  ...{ facts: [], hasMoreFacts: false, tasks: [], sessions: [], files: [], hasMoreFiles: false },
}

/** Creates an agent's knowledge that managers change, and that records what was changed and seen. */
export function createFakeKnowledge() {
  const changes: KnowledgeChange[] = []
  const views: KnowledgeView[] = []
  const api: KnowledgeApi = {
    list: async (_agentId, view) => {
      views.push(view)
      return nothing
    },
    change: async (_agentId, view, change) => {
      if (!view.isManager) return 'missing'
      changes.push(change)
      return 'done'
    },
  }
  return { ...api, changes, views }
}
