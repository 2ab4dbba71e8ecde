import { DurableObject } from 'cloudflare:workers'
import type { AccountId, ActivationId } from '../ids'
import type { AgentDeps } from './agent-deps'
import { AgentShell } from './agent-shell'
import type { AgentState } from './contract'

/**
 * One agent's Durable Object: what others may ask of it. The loop is in its shell, whose storage is
 * this object's.
 */
export class AgentObjectBase<Env> extends DurableObject<Env> {
  protected readonly shell: AgentShell

  constructor(ctx: DurableObjectState, env: Env, deps: AgentDeps) {
    super(ctx, env)
    this.shell = new AgentShell(ctx.storage, deps)
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

  readState(): AgentState {
    return this.shell.readState()
  }

  readTrace(activationId: ActivationId): string | null {
    return this.shell.readTrace(activationId)
  }
}
