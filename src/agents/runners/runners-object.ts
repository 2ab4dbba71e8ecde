import { DurableObject } from 'cloudflare:workers'
import { ClosedTags } from '../../hub/contract/hub'
import { closeForStop } from '../../hub/contract/live-event'
import { liveLimits } from '../../shared/config'
import type {
  NewRun,
  RunnerApi,
  RunnerConnection,
  RunnerControl,
  RunnerList,
} from '../contract/coding-agents'
import type { RunnersDeps } from './run-dispatcher'
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

type Runners = DurableObjectNamespace<RunnersObjectBase<unknown>>

/** One object for all runners: a run goes to whichever is free. */
const getObject = (namespace: Runners) => namespace.getByName('runners')

/** Creates the API through which agents' objects use runners. */
export const createRunnerApi = (namespace: Runners): RunnerApi => ({
  start: async (run) => getObject(namespace).start(run),
  stop: async (run, reason) => getObject(namespace).stop(run, reason),
  forgetSessions: async (sessionIds) => getObject(namespace).forgetSessions(sessionIds),
})

/** Creates the API through which the hub shows and controls runners. */
export const createRunnerControl = (namespace: Runners): RunnerControl => ({
  connect: (connection, request) =>
    getObject(namespace).fetch(toRunnerRequest(connection, request)),
  list: async () => getObject(namespace).list(),
  setDraining: async (runnerId, isDraining) =>
    getObject(namespace).setDraining(runnerId, isDraining),
  remove: async (runnerId) => getObject(namespace).remove(runnerId),
  disconnect: async (tags) => getObject(namespace).disconnect(tags),
  announceStop: async () => getObject(namespace).announceStop(),
})

/** Returns the upgrade request for the runners' object, with the connection in the query. */
function toRunnerRequest(connection: RunnerConnection, request: Request): Request {
  const query = new URLSearchParams({ connection: JSON.stringify(connection) })
  const headers = new Headers(request.headers)
  headers.delete('authorization')
  return new Request(`https://runners.invalid/?${query}`, { headers })
}

/** Returns the connection of a request made by `toRunnerRequest`. */
const readRunnerRequest = (request: Request): RunnerConnection =>
  JSON.parse(new URL(request.url).searchParams.get('connection') ?? 'null')
