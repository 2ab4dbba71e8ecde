import type {
  ApprovalReason,
  AuditEntry,
  ConversationApi,
  GrantApi,
  GrantPolicy,
  Privacy,
} from '../../hub/contract/hub'
import type { CallClass } from '../../shared/config'
import type { AccountId, Clock } from '../../shared/ids'
import type { MemoryApi, ToolApi, ToolCaller } from '../contract/tools'
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
 * token. The hub then records the intent before the call runs.
 */
export const isExternalCaller = ({ activationId, isExternal }: ToolCaller): boolean =>
  activationId === null || isExternal === true

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
