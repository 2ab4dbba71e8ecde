import type { NewRun, RunReceiver } from '../../../src/agents/contract/coding-agents'
import type { RunnersDeps } from '../../../src/agents/runners/run-dispatcher'
import type { RunnerSocket } from '../../../src/agents/runners/runner-connections'
import { RunnersShell } from '../../../src/agents/runners/runners-shell'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { createLog } from '../../../src/shared/log'
import type { RunReport } from '../../../src/shared/runner-protocol'
import { FakeSocket } from './fake-runner'

const agentId = 'agent-1' as AccountId
const hour = 3_600_000

/** What the fake agent knows of an activation. */
interface FakeActivation {
  attempt: number
  /** Reports by attempt. */
  stored: Map<number, RunReport[]>
  isDone: boolean
  lost: string[]
}

/** The runners' object with fake agents, a fake database and fake runners. */
export class RunnersWorld {
  readonly sockets: FakeSocket[] = []
  readonly activations = new Map<string, FakeActivation>()
  /** Attempts of which a token is valid. */
  readonly tokens = new Map<string, number>()
  readonly endedKeys = new Set<string>()
  readonly calls: string[] = []
  now = Date.UTC(2026, 0, 1)
  alarmAt: number | null = null
  /** Agents do not answer. */
  areAgentsDown = false
  isDatabaseDown = false
  /** An agent begins again with a new attempt when it hears of a loss. */
  beginsAgain = false
  /** Holds back what agents answer. */
  hold: Promise<void> = Promise.resolve()
  /** Holds back tokens. */
  holdTokens: Promise<void> = Promise.resolve()
  shell: RunnersShell
  readonly #state: DurableObjectState
  readonly #pending = new Set<Promise<unknown>>()
  #ids = 0

  constructor(state: DurableObjectState) {
    this.#state = state
    this.shell = this.restart()
  }

  /** Starts the object anew on what it stored. Sockets stay open, as after a hibernation. */
  restart(): RunnersShell {
    const storage = {
      sql: this.#state.storage.sql,
      setAlarm: async (at: number) => {
        this.alarmAt = at
      },
      deleteAlarm: async () => {
        this.alarmAt = null
      },
    }
    const sockets = {
      getWebSockets: (tag?: string) =>
        this.sockets.filter(({ isOpen, tags }) => isOpen && (!tag || tags.includes(tag))),
      getWebSocketAutoResponseTimestamp: (socket: RunnerSocket) =>
        socket instanceof FakeSocket ? new Date(socket.pingAt) : null,
    }
    this.shell = new RunnersShell(storage, sockets, this.#createDeps())
    return this.shell
  }

  track(work: Promise<unknown>): void {
    this.#pending.add(work)
    void work.finally(() => this.#pending.delete(work))
  }

  /** Waits until nothing is in flight. */
  async settle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  /** Lets time pass; runs alarms, and connected runners ping. */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms
    for (let alarms = 0; this.alarmAt !== null && this.alarmAt <= until; alarms++) {
      if (alarms > 200) throw new Error('The alarm repeats without an end.')
      this.now = Math.max(this.now, this.alarmAt)
      this.#ping()
      this.alarmAt = null
      await this.shell.alarm()
      await this.settle()
    }
    this.now = until
    this.#ping()
  }

  #ping(): void {
    for (const socket of this.sockets) {
      if (socket.isOpen && !socket.isCut) socket.pingAt = this.now
    }
  }

  async start(name: string, fields: Partial<NewRun> = {}): Promise<string> {
    const [activation_id = '', attempt] = name.split('/')
    const run = createRun({ activation_id, attempt: Number(attempt) }, this.now, fields)
    const known = this.activations.get(activation_id)
    if (known) known.attempt = Math.max(known.attempt, run.attempt)
    else {
      const stored = new Map<number, RunReport[]>()
      this.activations.set(activation_id, { attempt: run.attempt, stored, isDone: false, lost: [] })
    }
    const { kind } = await this.shell.start(run)
    return kind
  }

  stop(name: string, reason: 'cancelled' | 'ended' | 'parked' = 'cancelled'): Promise<void> {
    const [activation_id = '', attempt] = name.split('/')
    return this.shell.stop({ activation_id, attempt: Number(attempt) }, reason)
  }

  /** Returns the texts that an agent has stored of an attempt. */
  stored(name: string): string[] {
    const [id = '', attempt] = name.split('/')
    const reports = this.activations.get(id)?.stored.get(Number(attempt)) ?? []
    return reports.map((report) => (report.kind === 'text' ? report.text : report.kind))
  }

  lost(id: string): string[] {
    return this.activations.get(id)?.lost ?? []
  }

  #createDeps(): RunnersDeps {
    const log = createLog({ level: 'error', redact: String, now: () => 0, write: () => undefined })
    return {
      attempts: {
        begin: async ({ activation_id: id, attempt }) => {
          this.#useDatabase()
          if ((this.tokens.get(id) ?? 0) > attempt) return false
          this.tokens.set(id, attempt)
          return true
        },
        end: async ({ activation_id: id, attempt }) => {
          this.#useDatabase()
          this.calls.push(`end ${id}/${attempt}`)
          if (this.tokens.get(id) === attempt) this.tokens.set(id, attempt + 0.5)
        },
        authorize: async ({ activationId: id, attempt, keyId }) => {
          await this.holdTokens
          this.#useDatabase()
          if (this.endedKeys.has(keyId)) return { kind: 'key_ended' }
          if (this.tokens.get(id) !== attempt) return { kind: 'run_ended' }
          return { kind: 'issued', token: `token of ${id}/${attempt}` }
        },
      },
      receiver: () => this.#receiver,
      clock: {
        now: () => this.now,
        newId: <Id extends string>() => `id-${++this.#ids}` as Id,
      },
      log,
    }
  }

  #useDatabase(): void {
    if (this.isDatabaseDown) throw new Error('The database is down.')
  }

  readonly #receiver: RunReceiver = {
    receiveReports: async (id: ActivationId, attempt, first, reports) => {
      await this.hold
      if (this.areAgentsDown) throw new Error('The agent is down.')
      const activation = this.activations.get(id)
      if (!activation || activation.attempt !== attempt || activation.isDone) return null
      const stored = activation.stored.get(attempt) ?? []
      if (first > stored.length + 1) throw new Error(`Reports before ${first} are missing.`)
      stored.push(...reports.slice(stored.length + 1 - first))
      activation.stored.set(attempt, stored)
      activation.isDone = stored.at(-1)?.kind === 'ended'
      return { stored: stored.length }
    },
    loseRun: async (id: ActivationId, attempt, reason) => {
      if (this.areAgentsDown) throw new Error('The agent is down.')
      this.calls.push(`lose ${id}/${attempt}`)
      const activation = this.activations.get(id)
      if (!activation || activation.attempt !== attempt || activation.isDone) return
      activation.lost.push(reason)
      if (this.beginsAgain) await this.start(`${id}/${attempt + 1}`)
    },
  }
}

const createRun = (
  key: { activation_id: string; attempt: number },
  now: number,
  fields: Partial<NewRun>,
): NewRun => ({
  ...key,
  agent_id: agentId,
  agent: 'coder',
  program: 'codex',
  system_prompt: 'You fix bugs.',
  prompt: 'Fix it.',
  model: {
    name: 'gpt',
    protocols: ['openai-responses'],
    context_tokens: 100_000,
    output_tokens: 4_000,
  },
  limits: {
    ends_at: now + hour,
    silence_ms: 60_000,
    model_requests: 20,
    output_chars: 100_000,
  },
  builtin: 'none',
  workspace: null,
  session_id: null,
  runs_on: [],
  ...fields,
})
