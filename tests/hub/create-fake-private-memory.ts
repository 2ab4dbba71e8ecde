import type {
  PrivateChange,
  PrivateItem,
  PrivateMemory,
  PrivateMemoryApi,
} from '../../src/agents/contract/agents'
import type { AccountId } from '../../src/shared/ids'

const nothing: PrivateMemory = { facts: [], hasMoreFacts: false, files: [], hasMoreFiles: false }

/** Creates a private memory in which every account has every item, and that records what was changed. */
export function createFakePrivateMemory() {
  const changes: { owner: AccountId; item: PrivateItem; change: PrivateChange }[] = []
  const api: PrivateMemoryApi = {
    list: async () => nothing,
    change: async (_agentId, owner, item, change) => {
      changes.push({ owner, item, change })
      return 'done'
    },
  }
  return { ...api, changes }
}
