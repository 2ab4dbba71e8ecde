import { DurableObject } from 'cloudflare:workers'
import { liveLimits } from '../../config'
import type { Hello, Known, LiveEvent } from './live-event'
import { readLiveRequest } from './live-request'
import { RecentEvents } from './recent-events'

/**
 * What people watch: one of a fixed number of objects, each with many topics, e.g. `post:<id>`.
 * Sends what is published on a topic to that topic's open sockets. It writes nothing: the sockets
 * hibernate with their topic as tag, and what is remembered is only what a new watcher could miss.
 */
export class LiveObject extends DurableObject {
  #recent = new RecentEvents(liveLimits)

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env as never)
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'))
  }

  /** Sends an event to everybody who watches the topic. Called by the hub only. */
  publish(topic: string, event: LiveEvent): void {
    this.#recent.note(topic, event, Date.now())
    const sockets = this.ctx.getWebSockets(topic)
    if (sockets.length === 0) return
    const text = JSON.stringify(event)
    for (const socket of sockets) send(socket, text)
  }

  /** An upgrade with the query of `toLiveRequest`. */
  override async fetch(request: Request): Promise<Response> {
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      return new Response('This is a WebSocket.', {
        status: 426,
        headers: { upgrade: 'websocket' },
      })
    }
    const { topic, known } = readLiveRequest(request)
    if (this.#isCrowded(topic)) {
      return new Response('Too many people watch this.', { status: 503 })
    }
    const { 0: client, 1: server } = new WebSocketPair()
    this.ctx.acceptWebSocket(server, [topic])
    this.#greet(server, topic, known)
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Watchers have nothing to say. */
  override webSocketMessage(): void {}

  override webSocketClose(socket: WebSocket, code: number): void {
    // 1005 and 1006 tell that there was no code; they must not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  #isCrowded(topic: string): boolean {
    return (
      this.ctx.getWebSockets(topic).length >= liveLimits.watchersPerTopicMax ||
      this.ctx.getWebSockets().length >= liveLimits.watchersPerObjectMax
    )
  }

  /**
   * Nothing is missed between the page and its socket. What was committed before the upgrade read
   * the database is in `known`; what was published after that is either still in memory (an object
   * stays there for seconds after a call) and repeated here, or it comes over the socket. Hearing a
   * thing twice is harmless. Only an object that dies in those milliseconds forgets, and then
   * the next event or reconnect tells.
   */
  #greet(socket: WebSocket, topic: string, known: Known): void {
    send(socket, JSON.stringify({ type: 'hello', ...known } satisfies Hello))
    for (const event of this.#recent.since(topic, known, Date.now())) {
      send(socket, JSON.stringify(event))
    }
  }
}

/** A socket that is closing throws; its watcher will come back and read the page. */
function send(socket: WebSocket, text: string): void {
  try {
    socket.send(text)
  } catch {
    // Gone already.
  }
}
