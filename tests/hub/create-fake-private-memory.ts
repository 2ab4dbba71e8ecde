import type {
  PrivateChange,
  PrivateFact,
  PrivateFile,
  PrivateItem,
  PrivateMemory,
  PrivateMemoryApi,
  PrivatePage,
} from '../../src/agents/contract/agents'
import type { AccountId } from '../../src/shared/ids'

/** What an agent keeps, for every account. Facts are newest first, files by path. */
export interface StoredMemory {
  facts: PrivateFact[]
  files: PrivateFile[]
}

/** Returns a page of a memory, as an agent does. */
export function pageMemory(
  { facts, files }: StoredMemory,
  { before, after, limit }: PrivatePage,
): PrivateMemory {
  const older = facts.filter(({ id }) => before === null || id < before)
  const left = files.filter(({ path }) => after === null || path > after)
  return {
    facts: older.slice(0, limit),
    hasMoreFacts: older.length > limit,
    files: left.slice(0, limit),
    hasMoreFiles: left.length > limit,
  }
}

/** Creates a private memory in which every account has every item, and that records what was changed. */
export function createFakePrivateMemory() {
  const changes: { owner: AccountId; item: PrivateItem; change: PrivateChange }[] = []
  const stored: StoredMemory = { facts: [], files: [] }
  const api: PrivateMemoryApi = {
    list: async (_agentId, _owner, page) => pageMemory(stored, page),
    change: async (_agentId, owner, item, change) => {
      changes.push({ owner, item, change })
      return 'done'
    },
  }
  return { ...api, changes, stored }
}
