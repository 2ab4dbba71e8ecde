import type {
  ApprovalReason,
  AuditEntry,
  ConversationApi,
  GrantApi,
  GrantPolicy,
  Privacy,
  ThreadPost,
} from '../../hub/contract/hub'
import type { CallClass } from '../../shared/config'
import type { AccountId, Clock } from '../../shared/ids'
import type { MemoryApi, ToolApi, ToolCaller, ToolReads } from '../contract/tools'
import type { Connect } from '../credentials/connection'
import type { ResultStore } from '../storage/result-store'
import type { Workspace } from '../storage/workspace'
import type { PreparedCall, ToolServer } from '../tool/define-tool'
import type { NamedTool, RemoteCatalogue, ToolRegistry } from './registry'

export interface GatewayDeps {
  hub: ConversationApi & GrantApi
  memory: MemoryApi
  workspaceOf(accountId: AccountId, privacy: Privacy, isUntrusted: boolean): Workspace
  results: ResultStore
  clock: Clock
  servers: ToolServer[]
  /** Remote MCP servers that admins add while the hub runs. */
  remote?: RemoteCatalogue
  /** Connects to external services with their credentials; absent: tools cannot use any. */
  connect?: Connect
  /** The time of a call whose tool states none; absent: the default. */
  toolTimeoutMs?: number | undefined
  /** Reports the private cause of a failed tool to the operator. */
  reportFailure?: (tool: string, cause: unknown) => void
}

export interface Gateway extends ToolApi {
  /** Returns the servers that this isolate has loaded; call `refresh` first. */
  servers(): { name: string; description: string }[]
  /** Whether a tool has calls that write. One that this isolate has not loaded may have. */
  canWrite(name: string): boolean
  /** Closes what runs hold open at services and have not used for a while. Never throws. */
  closeIdle(): Promise<void>
  /** Returns the limit that counts the calls of a tool by outside callers. */
  findCallClass(name: string): CallClass
}

/** A call whose arguments are valid. */
export interface PendingCall {
  pipeline: Pipeline
  caller: ToolCaller
  tool: NamedTool
  prepared: PreparedCall
  /** The arguments as raw JSON, and as the tool reads them. */
  raw: string
  args: unknown
  entry: AuditEntry
  /** The hub's API and what the account stores, for the tool. */
  reads: WatchedReads
  signal: AbortSignal
  /** Reports progress to the caller. */
  progress(text: string): void
  /** The policy that the decision is based on. */
  policy?: GrantPolicy
  /** Why it requires approval; absent: it does not, or that is not decided yet. */
  reasons?: ApprovalReason[]
  /** It used the account of the requester, so that its result is private. */
  usesOwnAccount?: boolean
  /** The call for which an approval of the same call was requested before, and is still pending. */
  requestedBy?: string
  /** The approval that the call consumes when it runs. */
  approvalId?: string
}

export interface Pipeline extends GatewayDeps {
  tools: ToolRegistry
  resultBytesMax: number
}

/**
 * Whether the caller has no journal: people, external agents, and programs that use an activation's
 * token. The hub then records the intent before the call runs. Nothing is recorded of calls as of a time.
 */
export const isExternalCaller = ({ activationId, isExternal, at }: ToolCaller): boolean =>
  at === undefined && (activationId === null || isExternal === true)

/** What an account stores, as its tools use it. */
export interface AccountStores {
  memory: MemoryApi
  workspace: Workspace
  results: Pick<ResultStore, 'find'>
}

/** The hub's API and the stores of one call, which notice what their answers are marked with. */
interface WatchedReads {
  hub: ConversationApi
  stores: AccountStores
  /** Whether an answer held data that is private to the reader. */
  hasPrivate(): boolean
  /** Whether an answer held untrusted text. */
  hasUntrusted(): boolean
  /** Returns what the answers were made of; undefined for nothing. */
  list(): ToolReads | undefined
}

/** Watches the answers that show what others wrote, and what runs have saved. */
export function watchReads(hub: ConversationApi, stores: AccountStores): WatchedReads {
  const { memory, workspace, results } = stores
  const found = new Set<Mark>()
  const reads = new ReadList()
  const watch =
    <Args extends unknown[], Answer>(read: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      const answer = await read(...args)
      for (const mark of marks) if (isMarked(answer, mark)) found.add(mark)
      return answer
    }
  const note =
    <Args extends unknown[], Answer>(
      read: (...args: Args) => Promise<Answer>,
      add: (answer: Answer) => void,
    ) =>
    async (...args: Args): Promise<Answer> => {
      const answer = await read(...args)
      add(answer)
      return answer
    }
  const addPosts = (posts: ThreadPost[]) => reads.add('post', posts)
  return {
    hub: {
      ...hub,
      search: note(watch(hub.search), (hits) => {
        for (const type of ['post', 'comment'] as const) {
          reads.add(
            type,
            hits.filter((hit) => hit.type === type),
          )
        }
      }),
      readThread: note(watch(hub.readThread), ({ post, comments }) => {
        reads.add('post', [post])
        reads.add('comment', comments)
      }),
      readFeed: note(watch(hub.readFeed), addPosts),
      discover: note(watch(hub.discover), addPosts),
      readProfile: watch(hub.readProfile),
      readInbox: note(watch(hub.readInbox), (entries) => {
        for (const { postId, commentId } of entries) {
          if (commentId) reads.add('comment', [{ id: commentId }])
          else if (postId) reads.add('post', [{ id: postId }])
        }
      }),
    },
    stores: {
      memory: {
        ...memory,
        listFacts: note(watch(memory.listFacts), (answer) =>
          reads.add('fact', answer?.facts ?? []),
        ),
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
    list: () => reads.list(),
  }
}

const readsMax = 200

/** Collects the ids of what one call has read, in the order of the answers. */
class ReadList {
  readonly #ids = { post: new Set<string>(), comment: new Set<string>(), fact: new Set<number>() }
  #hasMore = false

  add<Kind extends 'post' | 'comment' | 'fact'>(
    kind: Kind,
    read: readonly { id: Kind extends 'fact' ? number : string }[],
  ): void {
    const { post, comment, fact } = this.#ids
    const ids: Set<string | number> = this.#ids[kind]
    for (const { id } of read) {
      if (ids.has(id)) continue
      if (post.size + comment.size + fact.size < readsMax) ids.add(id)
      else this.#hasMore = true
    }
  }

  list(): ToolReads | undefined {
    const { post, comment, fact } = this.#ids
    if (post.size + comment.size + fact.size === 0) return undefined
    return {
      ...(post.size > 0 && { post: [...post] }),
      ...(comment.size > 0 && { comment: [...comment] }),
      ...(fact.size > 0 && { fact: [...fact] }),
      ...(this.#hasMore && { hasMore: true }),
    }
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
