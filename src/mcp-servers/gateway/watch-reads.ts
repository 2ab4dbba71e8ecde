import type { ConversationApi } from '../../hub/contract/hub'
import type { MemoryApi } from '../contract/tools'
import type { ResultStore } from '../storage/result-store'
import type { Workspace } from '../storage/workspace'

/** What an account stores, as its tools use it. */
export interface AccountStores {
  memory: MemoryApi
  workspace: Workspace
  results: Pick<ResultStore, 'find'>
}

/** The hub's API and the stores of one call, which notice what their answers are marked with. */
export interface WatchedReads {
  hub: ConversationApi
  stores: AccountStores
  /** Whether an answer held data that is private to the reader. */
  hasPrivate(): boolean
  /** Whether an answer held untrusted text. */
  hasUntrusted(): boolean
}

/** Watches the answers that show what others wrote, and what runs have saved. */
export function watchReads(hub: ConversationApi, stores: AccountStores): WatchedReads {
  const { memory, workspace, results } = stores
  const found = new Set<Mark>()
  const watch =
    <Args extends unknown[], Answer>(read: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      const answer = await read(...args)
      for (const mark of marks) if (isMarked(answer, mark)) found.add(mark)
      return answer
    }
  return {
    hub: {
      ...hub,
      search: watch(hub.search),
      readThread: watch(hub.readThread),
      readFeed: watch(hub.readFeed),
      discover: watch(hub.discover),
      readProfile: watch(hub.readProfile),
      readInbox: watch(hub.readInbox),
    },
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
    hasPrivate: () => found.has('isPrivate'),
    hasUntrusted: () => found.has('isUntrusted'),
  }
}

const marks = ['isPrivate', 'isUntrusted'] as const
type Mark = (typeof marks)[number]

/** Whether a part of an answer has a mark. */
function isMarked(value: unknown, mark: Mark): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  if (Reflect.get(value, mark) === true) return true
  return Object.values(value).some((part) => isMarked(part, mark))
}
