import WebSocket from 'ws'
import {
  type HubMessage,
  hubMessage,
  type RunnerMessage,
  runnerCloseCodes,
} from '../../src/shared/runner-protocol.ts'
import type { Log } from '../log.ts'

export interface ConnectionOptions {
  /** The hub's address, such as `https://hub.example`. */
  hub: string
  key: string
  log: Log
  /** The first message of every connection. */
  hello(): RunnerMessage
  /** Called after the hub's welcome and for every message after it. */
  receive(message: HubMessage): void
  /** Wait before the first reconnection; doubles up to 30 s. */
  retryMs?: number
}

/** Ends with it when the hub does not accept the key. */
export class RefusedError extends Error {}

const retryMsMax = 30_000

/** The one WebSocket to the hub. Reconnects until it is closed. */
export class HubConnection {
  readonly #options: ConnectionOptions
  #socket: WebSocket | null = null
  #isReady = false
  #isClosed = false
  #failures = 0
  #retry: NodeJS.Timeout | undefined
  #pings: NodeJS.Timeout | undefined
  readonly #ended = Promise.withResolvers<void>()

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Whether the hub has welcomed this runner and the connection stands. */
  get isReady(): boolean {
    return this.#isReady
  }

  /**
   * Connects, and resolves when `close` is called.
   * @throws RefusedError when the hub does not accept the key
   */
  run(): Promise<void> {
    this.#connect()
    return this.#ended.promise
  }

  send(message: RunnerMessage): boolean {
    if (!this.#isReady || this.#socket?.readyState !== WebSocket.OPEN) return false
    this.#socket.send(JSON.stringify(message))
    return true
  }

  close(): void {
    this.#stop()
    this.#ended.resolve()
  }

  #stop(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    clearInterval(this.#pings)
    this.#socket?.close(1000)
  }

  #connect(): void {
    const { hub, key, log } = this.#options
    const socket = new WebSocket(`${hub.replace(/^http/, 'ws')}/runners/socket`, {
      headers: { authorization: `Bearer ${key}` },
      handshakeTimeout: 15_000,
    })
    this.#socket = socket
    let problem = ''
    socket.on('open', () => socket.send(JSON.stringify(this.#options.hello())))
    socket.on('message', (data, isBinary) => {
      if (!isBinary) this.#receive(socket, data.toString())
    })
    socket.on('unexpected-response', (_request, response) => {
      response.resume()
      if (response.statusCode === 401 || response.statusCode === 403) {
        this.#refuse(
          `${hub} does not accept the key (${response.statusCode}). Create a runner key on its page /runners.`,
        )
      }
      problem = `HTTP ${response.statusCode}`
      socket.terminate()
    })
    socket.on('error', (error) => {
      problem ||= error.message
    })
    socket.on('close', (code, reason) => {
      clearInterval(this.#pings)
      const was = this.#isReady
      this.#isReady = false
      if (this.#isClosed) return
      if (code === runnerCloseCodes.accessEnded) return this.#refuse('The key was revoked.')
      if (code === runnerCloseCodes.replaced) {
        return this.#refuse('Another process has connected with this key and name.')
      }
      const wait = this.#nextWait()
      const why = problem || reason.toString() || `code ${code}`
      log.warn(
        `${was ? 'Connection lost' : 'No connection'} (${why}). Retrying in ${(wait / 1000).toFixed(1)} s.`,
      )
      this.#retry = setTimeout(() => this.#connect(), wait)
    })
  }

  #refuse(message: string): void {
    this.#stop()
    this.#ended.reject(new RefusedError(message))
  }

  #nextWait(): number {
    const base = this.#options.retryMs ?? 1_000
    const longest = Math.min(base * 2 ** this.#failures, retryMsMax)
    this.#failures++
    return longest * (0.5 + Math.random() / 2)
  }

  #receive(socket: WebSocket, text: string): void {
    this.#isAlive = true
    if (text === 'pong') return
    const parsed = hubMessage.safeParse(parseJson(text))
    if (!parsed.success) {
      this.#options.log.warn('The hub sent a message that this version does not know.')
      return
    }
    if (parsed.data.type === 'welcome') this.#welcome(socket, parsed.data.ping_ms)
    if (this.#isReady) this.#options.receive(parsed.data)
  }

  #isAlive = true

  #welcome(socket: WebSocket, pingMs: number): void {
    this.#isReady = true
    this.#failures = 0
    this.#isAlive = true
    clearInterval(this.#pings)
    this.#pings = setInterval(() => {
      // Nothing since the last ping: the connection is dead, whatever the machine believes.
      if (!this.#isAlive) return socket.terminate()
      this.#isAlive = false
      socket.send('ping')
    }, pingMs)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
