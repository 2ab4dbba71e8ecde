import type { RunnerSocket } from '../../../src/agents/runners/runner-connections'
import type { RunnersShell } from '../../../src/agents/runners/runners-shell'
import { accountTag, keyTag } from '../../../src/hub/contract/live-event'
import type { AccountId } from '../../../src/shared/ids'
import {
  type HubMessage,
  hubMessage,
  type RunnerMessage,
  type RunReport,
  runnerProtocolVersion,
} from '../../../src/shared/runner-protocol'

export const adminId = 'admin-1' as AccountId

/** What a fake runner uses of its world. */
interface Hub {
  readonly shell: RunnersShell
  readonly sockets: FakeSocket[]
  track(work: Promise<unknown>): void
  settle(): Promise<void>
}

const toName = ({ activation_id: id, attempt }: { activation_id: string; attempt: number }) =>
  `${id}/${attempt}`

/** A socket between the hub and a fake runner. A cut one loses what is sent, in both directions. */
export class FakeSocket implements RunnerSocket {
  readonly tags: string[]
  isOpen = true
  isCut = false
  code = 0
  reason = ''
  pingAt = 0
  readonly #runner: FakeRunner
  #attachment: unknown = null

  constructor(runner: FakeRunner, tags: string[]) {
    this.#runner = runner
    this.tags = tags
  }

  send(text: string | ArrayBuffer | ArrayBufferView): void {
    if (!this.isOpen) throw new TypeError('The socket is closed.')
    if (!this.isCut) this.#runner.take(this, hubMessage.parse(JSON.parse(String(text))))
  }

  close(code = 1000, reason = ''): void {
    if (!this.isOpen) return
    Object.assign(this, { isOpen: false, code, reason })
    if (!this.isCut) this.#runner.noteClosed(this)
  }

  serializeAttachment(value: unknown): void {
    this.#attachment = structuredClone(value)
  }

  deserializeAttachment(): unknown {
    return structuredClone(this.#attachment)
  }
}

interface HeldRun {
  reports: RunReport[]
  acknowledged: number
}

const ended: RunReport = {
  kind: 'ended',
  end: 'end_turn',
  detail: null,
  is_success: true,
  answer: 'Done.',
  session_id: null,
  changes: null,
}
const hasEnded = ({ reports }: HeldRun) => reports.at(-1)?.kind === 'ended'

/** A runner that speaks the protocol and starts no program. */
export class FakeRunner {
  readonly runs = new Map<string, HeldRun>()
  /** Names of the attempts that it was ever sent. */
  readonly started: string[] = []
  readonly received: HubMessage[] = []
  socket: FakeSocket | null = null
  isRefusing = false
  keyId = 'key-1'
  readonly #world: Hub
  readonly #hello: Extract<RunnerMessage, { type: 'hello' }>

  constructor(world: Hub, name: string, hello: Partial<FakeRunner['hello']> = {}) {
    this.#world = world
    this.#hello = {
      type: 'hello',
      protocol: runnerProtocolVersion,
      version: '0.1.0',
      name,
      labels: [],
      slots: 1,
      runs: [],
      has_sandbox: false,
      programs: [{ type: 'codex', version: '1.0' }],
      ...hello,
    }
  }

  get hello() {
    const runs = [...this.runs].map(([name, run]) => {
      const [activation_id = '', attempt] = name.split('/')
      const sent = run.reports.length
      return { activation_id, attempt: Number(attempt), sent, is_ended: hasEnded(run) }
    })
    return { ...this.#hello, runs }
  }

  get messages() {
    return this.received.map(({ type }) => type)
  }

  /** Connects without a hello. */
  async open(): Promise<FakeSocket> {
    const tags = [accountTag(adminId), keyTag(this.keyId)]
    const socket = new FakeSocket(this, tags)
    this.socket = socket
    this.#world.sockets.push(socket)
    const origin = 'http://hub.test'
    await this.#world.shell.open(socket, { keyId: this.keyId, accountId: adminId, origin })
    return socket
  }

  async connect(): Promise<FakeSocket> {
    const socket = await this.openWithHello()
    await this.#world.settle()
    return socket
  }

  /** Connects, and does not wait for the welcome. */
  async openWithHello(): Promise<FakeSocket> {
    const socket = await this.open()
    this.send(this.hello)
    return socket
  }

  /** Loses the connection; the hub notices it at once, or not at all. */
  async cut(isNoticed = true): Promise<void> {
    const { socket } = this
    this.socket = null
    if (!socket) return
    socket.isCut = true
    if (!isNoticed) return
    socket.isOpen = false
    await this.#world.shell.close(socket)
  }

  /** Ends as by kill -9: nothing is left of its runs. */
  async crash(): Promise<void> {
    this.runs.clear()
    await this.cut()
  }

  send(message: RunnerMessage | string): void {
    const { socket } = this
    if (!socket?.isOpen || socket.isCut) return
    const text = typeof message === 'string' ? message : JSON.stringify(message)
    this.#world.track(this.#world.shell.receive(socket, text))
  }

  /** Adds a report to a run, and sends it. */
  report(name: string, report?: RunReport): void {
    const run = this.runs.get(name)
    if (!run || hasEnded(run)) return
    run.reports.push(report ?? { kind: 'text', text: `${name} ${run.reports.length + 1}` })
    this.#sendReports(name, run.reports.length)
  }

  end(name: string): void {
    this.report(name, ended)
  }

  take(socket: FakeSocket, message: HubMessage): void {
    if (socket !== this.socket) return
    this.received.push(message)
    if (message.type === 'start') this.#start(message.order)
    else if (message.type === 'welcome') this.#resume(message.forget)
    else if (message.type === 'stop') this.end(toName(message))
    else if (message.type === 'acknowledge') this.#forgetReports(message)
  }

  noteClosed(socket: FakeSocket): void {
    if (this.socket === socket) this.socket = null
  }

  #start(order: Extract<HubMessage, { type: 'start' }>['order']): void {
    const name = toName(order)
    const { activation_id, attempt } = order
    const running = [...this.runs.values()].filter((run) => !hasEnded(run))
    if (this.isRefusing || running.length >= this.#hello.slots) {
      this.send({ type: 'refuse', activation_id, attempt, reason: 'All slots are in use' })
      return
    }
    this.started.push(name)
    this.runs.set(name, { reports: [], acknowledged: 0 })
  }

  #resume(forget: { activation_id: string; attempt: number }[]): void {
    for (const key of forget) this.runs.delete(toName(key))
    for (const [name, run] of this.runs) this.#sendReports(name, run.acknowledged + 1)
  }

  #sendReports(name: string, first: number): void {
    const [activation_id = '', attempt] = name.split('/')
    const reports = this.runs.get(name)?.reports.slice(first - 1) ?? []
    if (reports.length === 0) return
    this.send({ type: 'report', activation_id, attempt: Number(attempt), first, reports })
  }

  #forgetReports(message: Extract<HubMessage, { type: 'acknowledge' }>): void {
    const name = toName(message)
    const run = this.runs.get(name)
    if (!run) return
    run.acknowledged = Math.max(run.acknowledged, message.report)
    if (hasEnded(run) && run.acknowledged >= run.reports.length) this.runs.delete(name)
  }
}
