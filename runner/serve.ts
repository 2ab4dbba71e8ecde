import { rmSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type HubMessage,
  type RunnerMessage,
  type RunOrder,
  type RunReport,
  runnerProtocolVersion,
} from '../src/shared/runner-protocol.ts'
import { HubConnection } from './hub/connection.ts'
import {
  type AttemptName,
  createHeldRun,
  type Held,
  recoverRuns,
  toKey,
  toLost,
} from './hub/held-runs.ts'
import type { Log } from './log.ts'
import { profiles } from './profiles/profiles.ts'
import type { InstalledProgram } from './programs.ts'
import { findGitProblem } from './run/git.ts'
import { RunLimits } from './run/limits.ts'
import { Places } from './run/places.ts'
import { cleanCopies } from './run/repository-copies.ts'
import { runAttempt } from './run/run.ts'

export interface RunnerOptions {
  hub: string
  key: string
  name: string
  labels: string[]
  slots: number
  /** Where runs, repositories and sessions lie. */
  folder: string
  /** End after the first run. */
  once: boolean
  log: Log
  programs: InstalledProgram[]
  hasSandbox: boolean
  version: string
  /** Wait before the first reconnection. */
  retryMs?: number
}

/** How often sessions are deleted that are too old. */
const cleanMs = 3_600_000

const stopDetails = {
  cancelled: 'The run was cancelled.',
  max_duration: 'The run reached its maximum duration.',
  ended: 'The run had ended.',
  superseded: 'Another attempt has taken over.',
  parked: 'The run waits for an approval.',
}

/** Takes runs from the hub, and reports them. */
export class Runner {
  readonly #options: RunnerOptions
  readonly #connection: HubConnection
  readonly #places: Places
  readonly #held = new Map<string, Held>()
  readonly #gitProblem: string | null
  #isDraining = false
  #hasTaken = false

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#places = new Places(options.folder)
    const { hub, key, log, retryMs } = options
    this.#gitProblem = findGitProblem()
    if (this.#gitProblem) log.warn(`Runs with a workspace are refused: ${this.#gitProblem}.`)
    this.#connection = new HubConnection({
      hub,
      key,
      log,
      ...(retryMs !== undefined && { retryMs }),
      hello: () => this.#hello(),
      receive: (message) => this.#receive(message),
    })
  }

  /**
   * Works until `stop` is called, or with `once` until the first run was reported.
   * @throws RefusedError when the hub does not accept the key
   */
  async run(): Promise<void> {
    for (const held of await recoverRuns(this.#options.folder, this.#options.log)) {
      this.#held.set(toKey(held), held)
    }
    this.#places.clean(Date.now())
    cleanCopies(this.#options.folder, Date.now())
    const timer = setInterval(() => this.#showStatus(), 1_000)
    const cleaning = setInterval(() => this.#places.clean(Date.now()), cleanMs)
    try {
      await this.#connection.run()
    } finally {
      clearInterval(timer)
      clearInterval(cleaning)
      await this.#endRuns('The runner has ended.')
    }
  }

  /** Ends the runs, reports that they are lost, and closes the connection. */
  async stop(): Promise<void> {
    this.#isDraining = true
    await this.#endRuns('The runner was stopped.')
    for (let round = 0; round < 30 && this.#held.size > 0 && this.#connection.isReady; round++) {
      await wait(100)
    }
    this.#connection.close()
  }

  async #endRuns(detail: string): Promise<void> {
    const running = [...this.#held.values()].flatMap(({ running }) => (running ? [running] : []))
    for (const { limits } of running) limits.end({ end: 'lost', detail })
    await Promise.all(running.map(({ done }) => done))
  }

  #hello(): RunnerMessage {
    const { name, labels, slots, programs, hasSandbox, version } = this.#options
    return {
      type: 'hello',
      protocol: runnerProtocolVersion,
      version,
      name,
      labels,
      slots,
      has_sandbox: hasSandbox,
      programs: programs.map((each) => ({ type: each.type, version: each.version })),
      runs: [...this.#held.values()].slice(0, 64).map((held) => ({
        activation_id: held.activation_id,
        attempt: held.attempt,
        sent: held.journal.count,
        is_ended: held.journal.isEnded,
      })),
    }
  }

  #receive(message: HubMessage): void {
    const { log, hub } = this.#options
    switch (message.type) {
      case 'welcome':
        log.info(`Connected to ${hub} as ${this.#options.name}.`)
        for (const each of message.forget) this.#forget(each)
        for (const held of this.#held.values()) {
          held.journal.rewind()
          this.#send(held)
        }
        return
      case 'start':
        this.#start(message.order)
        return
      case 'stop':
        this.#held.get(toKey(message))?.running?.limits.end({
          end: 'cancelled',
          detail: stopDetails[message.reason],
          keepsWork: message.reason === 'parked',
        })
        return
      case 'acknowledge':
        this.#acknowledge(message, message.report)
        return
      case 'forget_sessions':
        for (const each of message.session_ids) this.#places.forget(each)
        return
      case 'drain':
        this.#isDraining = message.is_draining
        log.info(message.is_draining ? 'Draining: no further runs.' : 'Taking runs again.')
    }
  }

  #start(order: RunOrder): void {
    const known = this.#held.get(toKey(order))
    // The hub did not see that it arrived.
    if (known) {
      this.#send(known)
      return
    }
    const reason = this.#findRefusal(order)
    if (reason !== null) {
      this.#options.log.warn(`${order.agent}: refused a run. ${reason}`)
      const { activation_id, attempt } = order
      this.#connection.send({ type: 'refuse', activation_id, attempt, reason })
      return
    }
    this.#hasTaken = true
    const held = createHeldRun(this.#options.folder, order)
    this.#held.set(toKey(order), held)
    const limits = new RunLimits(order.limits)
    held.running = { limits, done: this.#carryOut(order, held, limits), startedAt: Date.now() }
  }

  async #carryOut(order: RunOrder, held: Held, limits: RunLimits): Promise<void> {
    const { folder, hasSandbox, log } = this.#options
    const program = this.#findProgram(order)
    if (!program) return
    const report = (each: RunReport) => {
      held.journal.append(each)
      this.#send(held)
    }
    try {
      await runAttempt(
        order,
        {
          folder,
          runFolder: held.folder,
          places: this.#places,
          program,
          profile: profiles[order.program],
          hasSandbox,
          log,
          report,
        },
        limits,
      )
    } catch (error) {
      log.warn(`${order.agent}: ${(error as Error).message}`)
      report(toLost(log.redact((error as Error).message).slice(0, 2_000)))
    }
    limits.close()
    held.running = null
    log.info(`${order.agent}: the run has ended.`)
    if (held.isForgotten) this.#remove(held)
  }

  #findProgram({ program }: RunOrder): InstalledProgram | undefined {
    return this.#options.programs.find(({ type }) => type === program)
  }

  /** Returns why this runner cannot take the run; null when it can. */
  #findRefusal(order: RunOrder): string | null {
    const { slots, once, hasSandbox } = this.#options
    const { interface: kind, protocols, builtin } = profiles[order.program]
    const running = [...this.#held.values()].filter((held) => held.running !== null).length
    if (this.#isDraining || (once && this.#hasTaken)) return 'The runner takes no further runs.'
    if (running >= slots) return `All ${slots} slots are in use.`
    if (!this.#findProgram(order)) return `${order.program} is not installed on the runner.`
    if (!builtin.includes(order.builtin)) {
      return `${order.program} can have the built-in tools ${builtin.join(' or ')}, not ${order.builtin}.`
    }
    if (order.builtin !== 'none' && !hasSandbox) {
      return 'The runner has no sandbox, so built-in tools are refused.'
    }
    if (order.workspace && this.#gitProblem !== null) {
      return `The runner cannot use repositories: ${this.#gitProblem}.`
    }
    if (kind === 'command-line' && !order.workspace) {
      return `${order.program} only edits files: it needs a workspace.`
    }
    if (protocols.some((each) => order.model.protocols.includes(each))) return null
    return `${order.program} speaks ${protocols.join(', ')}, which the provider of the model does not.`
  }

  #acknowledge(name: AttemptName, report: number): void {
    const held = this.#held.get(toKey(name))
    if (!held) return
    held.journal.acknowledge(report)
    if (!held.journal.isDelivered || held.running) return
    this.#remove(held)
  }

  #forget(name: AttemptName): void {
    const held = this.#held.get(toKey(name))
    if (!held) return
    held.isForgotten = true
    if (held.running) held.running.limits.end({ end: 'cancelled', detail: stopDetails.superseded })
    else this.#remove(held)
  }

  #remove(held: Held): void {
    this.#held.delete(toKey(held))
    rmSync(held.folder, { recursive: true, force: true })
    if (this.#options.once && this.#hasTaken && this.#held.size === 0) this.#connection.close()
  }

  #send(held: Held): void {
    const { activation_id, attempt, isForgotten } = held
    while (!isForgotten && this.#connection.isReady) {
      const next = held.journal.takeUnsent()
      if (!next) return
      this.#connection.send({ type: 'report', activation_id, attempt, ...next })
    }
  }

  #showStatus(): void {
    const running = [...this.#held.values()].flatMap(({ agent, running }) =>
      running ? [`${agent} ${Math.round((Date.now() - running.startedAt) / 1000)} s`] : [],
    )
    const state = this.#connection.isReady ? 'connected' : 'not connected'
    const draining = this.#isDraining ? ', draining' : ''
    const { slots, log } = this.#options
    log.status(`${state}${draining} | ${running.length}/${slots} slots | ${running.join(', ')}`)
  }
}
