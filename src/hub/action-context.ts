import type { AgentApi, SchedulerApi } from '../agents/contract'
import type { Clock } from '../ids'
import type { Log } from '../log'
import type { Settings } from '../settings'
import type { KnownTools } from './contract'
import { createDb, type Db } from './db'
import type { Known } from './live/live-event'

/** Tells live watchers of a topic such as `post:<id>`; a hint that may be lost (H16). */
export interface LivePublisher {
  publish(topic: string, event: unknown): Promise<void>
  /**
   * Opens a WebSocket on the topic, with what the database knows as its first message; absent
   * where nothing can be watched.
   */
  connect?(topic: string, known: Known, request: Request): Promise<Response>
}

/** What an action works with. One a request, so that `db.cost` is the request's cost. */
export interface ActionContext {
  db: Db
  clock: Clock
  settings: Settings
  agents: AgentApi
  scheduler: SchedulerApi
  live: LivePublisher
  /** What policies may name. */
  tools: KnownTools
  log: Log
  /** Work that goes on after the answer. Failures are the work's own business. */
  defer(work: Promise<unknown>): void
}

/** The rooms and the database that every context is made of. */
export type ContextDeps = Omit<ActionContext, 'db' | 'defer'> & { binding: D1Database }

/**
 * A fresh context with its own `Db`.
 *
 * @param waitUntil keeps the platform awake for deferred work, whose failures are swallowed
 */
export function createContext(
  deps: ContextDeps,
  waitUntil: (work: Promise<unknown>) => void,
): ActionContext {
  const { clock, settings, agents, scheduler, live, tools, log } = deps
  const defer = (work: Promise<unknown>) => waitUntil(work.catch(() => undefined))
  return { clock, settings, agents, scheduler, live, tools, log, db: createDb(deps.binding), defer }
}
