import { DurableObject } from 'cloudflare:workers'
import { type Hello, type LiveEvent, type WorkingEvent, workingMsMax } from './live-event'

/** Watchers of one topic; more than this is an attack or a mistake. */
const watchersMax = 1_000

/**
 * One topic that people watch, e.g. `post:<id>`: sends what is published to every open socket. The
 * sockets hibernate, so a quiet topic costs nothing; what a new watcher must know at once (who works
 * now, the newest comment) is in storage, because memory does not survive hibernation.
 */
export class LiveTopicObject extends DurableObject {
  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env as never)
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'))
  }

  /** Sends an event to everybody who watches. Called by the hub only. */
  publish(event: LiveEvent): void {
    this.#remember(event, Date.now())
    const text = JSON.stringify(event)
    for (const socket of this.ctx.getWebSockets()) send(socket, text)
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      return new Response('This is a WebSocket.', {
        status: 426,
        headers: { upgrade: 'websocket' },
      })
    }
    if (this.ctx.getWebSockets().length >= watchersMax) {
      return new Response('Too many people watch this.', { status: 503 })
    }
    const { 0: client, 1: server } = new WebSocketPair()
    this.ctx.acceptWebSocket(server)
    send(server, JSON.stringify(this.#hello(Date.now())))
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Watchers have nothing to say. */
  override webSocketMessage(): void {}

  override webSocketClose(socket: WebSocket, code: number): void {
    // 1005 and 1006 tell that there was no code; they must not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  #remember(event: LiveEvent, now: number): void {
    const { kv } = this.ctx.storage
    if (event.type === 'comment') kv.put('last', event.id)
    if (event.type !== 'working') return
    const key = `working:${event.agent.id}`
    if (event.doing === null) kv.delete(key)
    else kv.put(key, { event, at: now } satisfies Remembered)
  }

  #hello(now: number): Hello {
    const { kv } = this.ctx.storage
    const working: WorkingEvent[] = []
    for (const [key, value] of kv.list<Remembered>({ prefix: 'working:' })) {
      if (now - value.at > workingMsMax) kv.delete(key)
      else working.push(value.event)
    }
    return { type: 'hello', last: kv.get<string>('last') ?? null, working }
  }
}

interface Remembered {
  event: WorkingEvent
  at: number
}

/** A socket that is closing throws; its watcher will come back and read the page. */
function send(socket: WebSocket, text: string): void {
  try {
    socket.send(text)
  } catch {
    // Gone already.
  }
}
