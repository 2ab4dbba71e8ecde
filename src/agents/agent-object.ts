import { DurableObject } from 'cloudflare:workers'
import type { AccountId, ActivationId, Clock } from '../ids'
import type { AgentDeps } from './agent-deps'
import { AgentShell } from './agent-shell'
import type { AgentState, SessionSnapshot } from './contract'
import { ActivationStream } from './live/activation-stream'
import { readWatchRequest } from './live/watch-request'
import { FactStore } from './storage/fact-store'
import { MemoryStore } from './storage/memory-store'
import { SessionStore } from './storage/session-store'

/**
 * One agent's Durable Object: what others may ask of it. The loop is in its shell, whose storage is
 * this object's.
 */
export class AgentObjectBase<Env> extends DurableObject<Env> {
  protected readonly shell: AgentShell
  readonly #facts: FactStore
  readonly #sessions: SessionStore
  readonly #clock: Clock

  constructor(ctx: DurableObjectState, env: Env, deps: AgentDeps) {
    super(ctx, env)
    const memory = new MemoryStore(ctx.storage.sql)
    this.#facts = new FactStore(memory)
    this.#sessions = new SessionStore(memory)
    this.#clock = deps.clock
    this.shell = new AgentShell(ctx.storage, deps, new ActivationStream(ctx, deps.mask), memory)
  }

  /**
   * A hint that work may wait; with `mayExplore`, a turn to look around if none does (S1). Resolves
   * when the agent is sure to look, whatever crashes, or has looked.
   */
  async wake(agentId: AccountId, mayExplore = false): Promise<void> {
    this.shell.wake(agentId, mayExplore)
    await this.shell.untilSure()
  }

  override alarm(): Promise<void> {
    return this.shell.alarm()
  }

  /** Asks the activation to stop; false when it is too late or another one (L34). */
  async cancel(activationId: ActivationId): Promise<boolean> {
    return this.shell.cancel(activationId)
  }

  /** The upgrade of somebody who watches an activation (L22). */
  override fetch(request: Request): Response {
    return this.shell.watch(request, readWatchRequest(request))
  }

  /** Watchers have nothing to say. */
  override webSocketMessage(): void {}

  override webSocketClose(socket: WebSocket, code: number): void {
    // 1005 and 1006 tell that there was no code; they must not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  rememberFact(fact: { text: string; source: string }) {
    return this.#facts.remember(fact, this.#clock.now())
  }

  forgetFact(id: number): boolean {
    return this.#facts.forget(id)
  }

  listFacts(query: { words: string | null; limit: number }) {
    return this.#facts.list(query)
  }

  addTask(task: { text: string; key: string | null }) {
    return this.#facts.addTask(task, this.#clock.now())
  }

  completeTask(task: { id: number; note: string }): string | null {
    return this.#facts.completeTask(task, this.#clock.now())
  }

  readSkill(name: string): Promise<string | null> {
    return this.shell.readSkill(name)
  }

  listSessions(sessionsMax: number) {
    return this.#sessions.list(sessionsMax)
  }

  readSession(id: string) {
    return this.#sessions.read(id)
  }

  restoreSession(id: string, snapshot: SessionSnapshot): boolean {
    return this.#sessions.restore(id, snapshot, this.#clock.now())
  }

  resetSession(id: string): boolean {
    return this.#sessions.reset(id)
  }

  compactSession(id: string) {
    return this.#sessions.compact(id)
  }

  readState(): AgentState {
    return this.shell.readState()
  }

  readTrace(activationId: ActivationId): string | null {
    return this.shell.readTrace(activationId)
  }
}
