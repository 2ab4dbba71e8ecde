import type { AgentApi, SchedulerApi } from '../../agents/contract/agents'
import { createDb, type Db } from '../../shared/db/db'
import type { Clock } from '../../shared/ids'
import type { Log } from '../../shared/log'
import type { Settings } from '../../shared/settings'
import type {
  ArchiveStore,
  ConnectedAccountsEnd,
  MediaStore,
  ModelStore,
  ToolCatalog,
} from '../contract/hub'
import type { LiveSnapshot, SocketOwner } from '../contract/live-event'
import type { MailSender } from '../contract/mail'
import type { PushSender } from '../contract/push'
import type { TriggerSecrets } from '../contract/triggers'
import type { WebhookSender } from '../contract/webhooks'

/** Publishes events to the live watchers of a topic such as `post:<id>`. Delivery is best effort. */
export interface LivePublisher {
  /** Returns whether anybody can watch topics of the same object; true when that is unknown. */
  publish(topic: string, event: unknown): Promise<boolean>
  /**
   * Opens a WebSocket on the topic; its first message is the snapshot. Absent where live updates are
   * not available.
   *
   * @param snapshot null for a session, whose first message is its threads
   * @param tags of `toWatcherTags`, by which `disconnect` finds it
   */
  connect?(
    topic: string,
    snapshot: LiveSnapshot | null,
    request: Request,
    tags?: string[],
  ): Promise<Response>
  /**
   * Adds a thread to those of a session, or removes it; sockets on the session's topic receive the new list. Absent
   * where live updates are not available.
   *
   * @returns false: the session has as many as it may
   */
  changeSubscription?(topic: string, postId: string, isWanted: boolean): Promise<boolean>
  /** Closes the sockets with any of the tags, on all topics. */
  disconnect?(tags: string[]): Promise<void>
  /** Closes all sockets with 1001. */
  announceStop?(): Promise<void>
  /**
   * Runs an upgrade, to a topic or to an agent, when its owner may have one more socket; else returns null.
   *
   * @param countOnAgents returns how many sockets of the owner agents hold
   */
  admit?<Answer>(
    owner: SocketOwner,
    now: number,
    countOnAgents: () => Promise<number>,
    upgrade: () => Promise<Answer>,
  ): Promise<Answer | null>
}

/** Dependencies of an action. Created once per request, so that `db.cost` is the cost of the request. */
export interface ActionContext {
  db: Db
  clock: Clock
  settings: Settings
  agents: AgentApi
  scheduler: SchedulerApi
  live: LivePublisher
  push: PushSender
  webhooks: WebhookSender
  triggerSecrets: TriggerSecrets
  mail: MailSender
  /** The model providers that admins set up. */
  models: ModelStore
  /** Tools that policies may name. */
  tools: ToolCatalog
  log: Log
  /** What accounts have connected at other services, which ends with them. */
  connected: ConnectedAccountsEnd
  /** Where old records are. */
  archive: ArchiveStore
  /** Where the bytes of images are. */
  media: MediaStore
  /** Runs work after the response is sent. Failures are ignored; the work has to handle them itself. */
  defer(work: Promise<unknown>): void
}

/** Modules and the database that every context is created from. */
export type ContextDeps = Omit<ActionContext, 'db' | 'defer'> & { binding: D1Database }

/**
 * Creates a context with its own `Db`.
 *
 * @param waitUntil keeps the Worker alive for deferred work; failures of that work are swallowed
 */
export function createContext(
  deps: ContextDeps,
  waitUntil: (work: Promise<unknown>) => void,
): ActionContext {
  const { binding, ...modules } = deps
  const defer = (work: Promise<unknown>) => waitUntil(work.catch(() => undefined))
  return { ...modules, db: createDb(binding), defer }
}
