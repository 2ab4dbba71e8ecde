import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import {
  type HubMessage,
  type RunnerMessage,
  type RunReport,
  runnerMessage,
} from '../../src/shared/runner-protocol.ts'

type Hello = Extract<RunnerMessage, { type: 'hello' }>

/** The hub's side of the runner protocol for tests. */
export interface FakeHub {
  url: string
  hellos: Hello[]
  refusals: string[]
  /** Reports by `activation attempt`, in the order of their numbers; a repeated one counts once. */
  reports: Map<string, RunReport[]>
  /** Reports that arrived again. */
  repeated: number
  /** When false, reports are dropped as by a hub that could not store them. */
  isStoring: boolean
  /** How many messages with reports it has dropped. */
  dropped: number
  /** What the next welcome says that the hub no longer waits for. */
  forget: Extract<HubMessage, { type: 'welcome' }>['forget']
  isConnected(): boolean
  send(message: HubMessage): void
  /** Breaks the connection without a closing handshake. */
  cut(): void
  /** Ends the connection with this code. */
  end(code: number): void
  /** Resolves when the value is there. @throws after 120 s */
  until<Value>(read: () => Value | undefined | false | null): Promise<Value>
  close(): Promise<void>
}

export async function startFakeHub(key: string): Promise<FakeHub> {
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true })
  let live: WebSocket | null = null
  server.on('upgrade', (request, socket, head) => {
    if (request.url !== '/runners/socket' || request.headers.authorization !== `Bearer ${key}`) {
      socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      live = accepted
      accepted.on('message', (data) => receive(accepted, data.toString()))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const hub: FakeHub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hellos: [],
    refusals: [],
    reports: new Map(),
    repeated: 0,
    isStoring: true,
    dropped: 0,
    forget: [],
    isConnected: () => live?.readyState === WebSocket.OPEN,
    send: (message) => live?.send(JSON.stringify(message)),
    cut: () => live?.terminate(),
    end: (code) => live?.close(code),
    until,
    async close() {
      for (const each of sockets.clients) each.terminate()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const receive = (socket: WebSocket, text: string) => {
    if (text === 'ping') {
      socket.send('pong')
      return
    }
    const message = runnerMessage.parse(JSON.parse(text))
    if (message.type === 'hello') {
      hub.hellos.push(message)
      hub.send({ type: 'welcome', runner_id: 'runner_1', ping_ms: 10_000, forget: hub.forget })
    } else if (message.type === 'refuse') hub.refusals.push(message.reason)
    else store(hub, message)
  }
  return hub
}

function store(hub: FakeHub, message: Extract<RunnerMessage, { type: 'report' }>): void {
  if (!hub.isStoring) {
    hub.dropped++
    return
  }
  const { activation_id, attempt, first } = message
  const name = `${activation_id} ${attempt}`
  const known = hub.reports.get(name) ?? []
  if (first > known.length + 1) throw new Error(`Report ${first} follows ${known.length}`)
  const fresh = message.reports.slice(known.length + 1 - first)
  hub.repeated += message.reports.length - fresh.length
  hub.reports.set(name, [...known, ...fresh])
  const report = known.length + fresh.length
  hub.send({ type: 'acknowledge', activation_id, attempt, report })
}

async function until<Value>(read: () => Value | undefined | false | null): Promise<Value> {
  for (const end = Date.now() + 120_000; Date.now() < end; ) {
    const value = read()
    if (value !== undefined && value !== false && value !== null) return value
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('It did not happen within 120 s')
}
