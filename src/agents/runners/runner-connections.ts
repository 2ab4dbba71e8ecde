import type { AccountId } from '../../shared/ids'
import type { HubMessage } from '../../shared/runner-protocol'

/** A WebSocket that hibernates with its attachment. */
export type RunnerSocket = Pick<
  WebSocket,
  'send' | 'close' | 'serializeAttachment' | 'deserializeAttachment'
>

/** The part of a Durable Object's state that holds its sockets. */
export interface RunnerSockets {
  getWebSockets(tag?: string): RunnerSocket[]
  /** When `ping` was last answered for the object. */
  getWebSocketAutoResponseTimestamp(socket: RunnerSocket): Date | null
}

/** What is stored with a socket. */
export interface ConnectionFacts {
  keyId: string
  accountId: AccountId
  origin: string
  openedAt: number
  /** Null until the runner has said who it is. */
  runnerId: string | null
  /** The hub has closed it; what still arrives is ignored. */
  isClosed?: true
}

/** The open connections of runners. They outlast a hibernation of the object. */
export class RunnerConnections {
  readonly #sockets: RunnerSockets
  readonly #noteClosed: (runnerId: string) => void

  /** @param noteClosed records that a runner has no connection any more */
  constructor(sockets: RunnerSockets, noteClosed: (runnerId: string) => void) {
    this.#sockets = sockets
    this.#noteClosed = noteClosed
  }

  read(socket: RunnerSocket): ConnectionFacts | null {
    const facts: ConnectionFacts | null = socket.deserializeAttachment()
    return facts?.isClosed ? null : facts
  }

  write(socket: RunnerSocket, facts: ConnectionFacts): void {
    socket.serializeAttachment(facts)
  }

  /** Returns the open connections with any of the tags; all without tags. */
  list(tags?: readonly string[]): { socket: RunnerSocket; facts: ConnectionFacts }[] {
    const found = tags
      ? tags.flatMap((tag) => this.#sockets.getWebSockets(tag))
      : this.#sockets.getWebSockets()
    return [...new Set(found)].flatMap((socket) => {
      const facts = this.read(socket)
      return facts ? [{ socket, facts }] : []
    })
  }

  find(runnerId: string): RunnerSocket | null {
    return this.list().find(({ facts }) => facts.runnerId === runnerId)?.socket ?? null
  }

  /** Returns the time of a connection's last ping, in milliseconds since the epoch; 0: there was none. */
  readPingAt(socket: RunnerSocket): number {
    return this.#sockets.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0
  }

  /** Notes that a connection has ended: what still arrives on it is ignored. */
  noteClosed(socket: RunnerSocket): void {
    const facts = this.read(socket)
    if (!facts) return
    this.write(socket, { ...facts, isClosed: true })
    if (facts.runnerId !== null) this.#noteClosed(facts.runnerId)
  }

  /** Returns false when the socket is closing, so that the message cannot arrive. */
  send(socket: RunnerSocket, message: HubMessage): boolean {
    try {
      socket.send(JSON.stringify(message))
      return true
    } catch {
      return false
    }
  }

  close(socket: RunnerSocket, code: number, reason: string): void {
    this.noteClosed(socket)
    try {
      socket.close(code, reason.slice(0, reasonCharsMax))
    } catch {
      // The socket is closed.
    }
  }
}

/** A reason has at most 123 bytes. */
const reasonCharsMax = 120
