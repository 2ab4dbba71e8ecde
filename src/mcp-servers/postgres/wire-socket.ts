import { postgresLimits } from '../../shared/config'
import { postgresErrors } from './errors'

type Listener = (value?: unknown) => void

/** Node's Buffer, which Workers provide too; the driver reads messages with its methods. */
const { Buffer } = globalThis as unknown as {
  Buffer: { from(bytes: ArrayBuffer, offset: number, length: number): Uint8Array }
}

/**
 * Adapts an open connection to the driver's `socket` option. It fails when a response exceeds the memory
 * limit, and reports an unexpected close as an error, since the driver would reconnect.
 */
export class WireSocket {
  readyState: 'open' | 'closed' = 'open'
  readonly #socket: Socket
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>
  readonly #listeners = new Map<string, Set<Listener>>()
  #isReading = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#writer = socket.writable.getWriter()
    socket.closed.catch(() => undefined)
  }

  on(event: string, listener: Listener): this {
    const all = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, all.add(listener))
    if (event === 'data' && !this.#isReading) {
      this.#isReading = true
      void this.#read()
    }
    return this
  }

  once(event: string, listener: Listener): this {
    const first: Listener = (value) => {
      this.removeListener(event, first)
      listener(value)
    }
    return this.on(event, first)
  }

  removeListener(event: string, listener: Listener): this {
    this.#listeners.get(event)?.delete(listener)
    return this
  }

  removeAllListeners(): this {
    this.#listeners.clear()
    return this
  }

  write(bytes: Uint8Array, done?: () => void): boolean {
    this.#writer.write(bytes).then(done, (error) => this.#fail(error))
    return true
  }

  end(bytes?: Uint8Array): void {
    if (this.readyState === 'closed') return
    this.readyState = 'closed'
    const last = bytes ? this.#writer.write(bytes) : Promise.resolve()
    last
      .then(() => this.#socket.close())
      .catch(() => undefined)
      .finally(() => this.#emit('close'))
  }

  destroy(): void {
    this.end()
  }

  async #read(): Promise<void> {
    let received = 0
    try {
      for await (const chunk of this.#socket.readable as ReadableStream<Uint8Array>) {
        received += chunk.length
        if (received > postgresLimits.receivedBytesMax) throw postgresErrors.resultTooLarge()
        this.#emit('data', Buffer.from(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.length))
      }
      this.#fail(new Error('The server closed the connection.'))
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.readyState === 'closed') return
    this.#emit('error', error)
    this.end()
  }

  #emit(event: string, value?: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(value)
  }
}
