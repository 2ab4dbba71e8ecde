import { DurableObject } from 'cloudflare:workers'
import { ClosedTags } from '../../hub/contract/closed-tags'
import { closeForStop } from '../../hub/contract/live-event'
import { liveLimits } from '../../shared/config'
import type { NewRun } from '../contract/coding-agents'
import type { RunnerList } from '../contract/runners'
import { readRunnerRequest } from './runner-request'
import type { RunnersDeps } from './runners-deps'
import { RunnersShell } from './runners-shell'

/** The Durable Object of all runners of a hub: its sockets and RPC methods. The rest is in its shell. */
export class RunnersObjectBase<Env> extends DurableObject<Env> {
  readonly #shell: RunnersShell
  readonly #closed = new ClosedTags(liveLimits.closedMs)

  constructor(ctx: DurableObjectState, env: Env, deps: RunnersDeps) {
    super(ctx, env)
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'))
    this.#shell = new RunnersShell(ctx.storage, ctx as RunnerState, deps)
  }

  /** Accepts an upgrade request made by `toRunnerRequest`. */
  override async fetch(request: Request): Promise<Response> {
    const { tags, ...facts } = readRunnerRequest(request)
    if (this.#closed.has(tags, Date.now())) {
      return new Response('The key has just changed. Try again in a few seconds.', { status: 503 })
    }
    if (this.#shell.isFull(facts.keyId)) {
      return new Response('Too many runners are connected. Try again later.', { status: 503 })
    }
    const { 0: client, 1: server } = new WebSocketPair()
    this.ctx.acceptWebSocket(server, tags)
    await this.#shell.open(server, facts)
    return new Response(null, { status: 101, webSocket: client })
  }

  override webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    return this.#shell.receive(socket, data)
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    await this.#shell.close(socket)
    // 1005 and 1006 stand for a missing code and must not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  override webSocketError(socket: WebSocket): Promise<void> {
    return this.#shell.close(socket)
  }

  override alarm(): Promise<void> {
    return this.#shell.alarm()
  }

  start(run: NewRun) {
    return this.#shell.start(run)
  }

  stop(...args: Parameters<RunnersShell['stop']>): Promise<void> {
    return this.#shell.stop(...args)
  }

  forgetSessions(sessionIds: string[]): Promise<void> {
    return this.#shell.forgetSessions(sessionIds)
  }

  list(): RunnerList {
    return this.#shell.list()
  }

  setDraining(runnerId: string, isDraining: boolean): Promise<boolean> {
    return this.#shell.setDraining(runnerId, isDraining)
  }

  remove(runnerId: string) {
    return this.#shell.remove(runnerId)
  }

  disconnect(tags: string[]): Promise<void> {
    this.#closed.add(tags, Date.now())
    return this.#shell.disconnect(tags)
  }

  /** Closes all connections with 1001, before the hub stops. Their runners go on and connect again. */
  announceStop(): void {
    for (const socket of this.ctx.getWebSockets()) closeForStop(socket)
  }
}

/** The platform's sockets are those that this object accepted. */
type RunnerState = DurableObjectState & ConstructorParameters<typeof RunnersShell>[1]
