import type { MemoryApi } from '../contract/tools'
import type { ResultStore } from '../storage/result-store'
import type { Workspace } from '../storage/workspace'

/** What an account stores, as its tools use it. */
export interface AccountStores {
  memory: MemoryApi
  workspace: Workspace
  results: Pick<ResultStore, 'find'>
}

/** The stores of one call, which notice whether an answer holds private data. */
export interface PrivateWatch {
  stores: AccountStores
  hasPrivateData(): boolean
}

/** Watches the answers of stores that hold what a run for one requester has saved. */
export function watchPrivateData({ memory, workspace, results }: AccountStores): PrivateWatch {
  let isFound = false
  const watch =
    <Args extends unknown[], Answer>(read: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      const answer = await read(...args)
      isFound ||= hasPrivate(answer)
      return answer
    }
  return {
    stores: {
      memory: {
        ...memory,
        listFacts: watch(memory.listFacts),
        completeTask: watch(memory.completeTask),
      },
      workspace: {
        ...workspace,
        list: watch(workspace.list),
        read: watch(workspace.read),
        write: watch(workspace.write),
      },
      results: { ...results, find: watch(results.find) },
    },
    hasPrivateData: () => isFound,
  }
}

/** Whether an answer holds something that is marked as private. */
function hasPrivate(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  if ('isPrivate' in value && value.isPrivate === true) return true
  return Object.values(value).some(hasPrivate)
}
