import { DurableObject } from 'cloudflare:workers'
import type { AccountId, ActivationId } from '../ids'
import type { AgentDeps } from './agent-deps'
import { AgentShell } from './agent-shell'
import type { AgentState } from './contract'
import { ActivationStream } from './live/activation-stream'
import { readWatchRequest } from './live/watch-request'

/**
 * One agent's Durable Object: what others may ask of it. The loop is in its shell, whose storage is
 * this object's.
 */
export class AgentObjectBase<Env> extends DurableObject<Env> {
  protected readonly shell: AgentShell
  readonly #stream: ActivationStream

  constructor(ctx: DurableObjectState, env: Env, deps: AgentDeps) {
    super(ctx, env)
    this.#stream = new ActivationStream(ctx, deps.mask)
    this.shell = new AgentShell(ctx.storage, deps, this.#stream)
  }

  /** A hint that work may wait. Resolves when the agent is sure to look, whatever crashes. */
  async wake(agentId: AccountId): Promise<void> {
    this.shell.wake(agentId)
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
    return this.#stream.watch(request, readWatchRequest(request), this.shell.look())
  }

  /** Watchers have nothing to say. */
  override webSocketMessage(): void {}

  override webSocketClose(socket: WebSocket, code: number): void {
    // 1005 and 1006 tell that there was no code; they must not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  readState(): AgentState {
    return this.shell.readState()
  }

  readTrace(activationId: ActivationId): string | null {
    return this.shell.readTrace(activationId)
  }
}
