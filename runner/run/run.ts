import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { RunOrder, RunReport } from '../../src/shared/runner-protocol.ts'
import type { Log } from '../log.ts'
import type { Launch, Profile } from '../profiles/profile.ts'
import type { InstalledProgram } from '../programs.ts'
import { driveCommandLine } from './command-line.ts'
import { type Claim, type Drive, driveAcp, toEnding } from './drive.ts'
import type { RunLimits } from './limits.ts'
import { writeInside } from './place-files.ts'
import type { Place, Places } from './places.ts'
import { killGroup, markerName, startGroup, toMarker } from './processes.ts'
import { proveTools } from './prove-tools.ts'
import { type Relay, startRelay } from './relay.ts'
import { startInSandbox } from './sandbox.ts'
import { openWorkspace, type Workspace } from './workspace.ts'

/** What an attempt needs of its machine. */
export interface RunDeps {
  /** The runner's folder. */
  folder: string
  /** The attempt's own folder. */
  runFolder: string
  places: Places
  program: InstalledProgram
  profile: Profile
  hasSandbox: boolean
  log: Log
  report(report: RunReport): void
}

/** After a request to stop, before the whole process group is killed. */
const cancelMs = 2_000

/** For a push before a pull request is opened: programs wait a minute for a tool, and the hub needs some of it. */
const pushMs = 30_000

/** Carries out one attempt. Its last report is `ended`; nothing that it started runs afterwards. */
export async function runAttempt(order: RunOrder, deps: RunDeps, limits: RunLimits): Promise<void> {
  const attempt = new Attempt(order, deps, limits)
  let claim: Claim
  try {
    claim = await attempt.run()
  } catch (error) {
    claim = { ...(limits.ending ?? toEnding(error, deps.profile)), isSuccess: false }
  }
  limits.close()
  deps.report(await attempt.finish(claim))
}

class Attempt {
  readonly #order: RunOrder
  readonly #deps: RunDeps
  readonly #limits: RunLimits
  readonly #place: Place
  readonly #earlier: string | null
  #relay: Relay | null = null
  #drive: Drive | null = null
  #child: ChildProcessWithoutNullStreams | null = null
  #workspace: Workspace | null = null
  #errors = ''

  constructor(order: RunOrder, deps: RunDeps, limits: RunLimits) {
    this.#order = order
    this.#deps = deps
    this.#limits = limits
    const { program, agent, workspace } = order
    const repository = workspace?.repository ?? null
    this.#place = deps.places.take({ program, agent, repository }, order.session_id, Date.now())
    this.#earlier = this.#place.facts.session_id
  }

  async run(): Promise<Claim> {
    const { log } = this.#deps
    log.hide(this.#order.token)
    const prepared = this.#prepare()
    const facts = await this.#orEnd(prepared)
    if (!facts) throw new Error('ended')
    const child = this.#start(facts.launch, facts.relay)
    const { profile, program, report } = this.#deps
    const drive = (profile.interface === 'acp' ? driveAcp : driveCommandLine)({
      order: this.#order,
      profile,
      launch: facts.launch,
      child,
      relay: facts.relay,
      cwd: this.#place.work,
      earlier: this.#earlier,
      version: program.version,
      keepSession: (sessionId) => {
        this.#deps.places.save(this.#place, { session_id: sessionId })
        return this.#deps.places.toHandle(this.#place, sessionId)
      },
      report,
      onUpdate: (chars) => this.#onUpdate(chars),
    })
    this.#drive = drive
    const done = this.#orLost(drive.done, child)
    // It may fail only after the run has ended.
    done.catch(() => undefined)
    const claim = await this.#orEnd(done)
    if (claim) return claim
    await Promise.race([drive.cancel().then(() => done), wait(cancelMs)]).catch(() => undefined)
    throw new Error('ended')
  }

  /** Stops and cleans up everything, then returns the last report. */
  async finish(claim: Claim): Promise<RunReport> {
    const { log, runFolder, places } = this.#deps
    const strays = await killGroup(this.#child?.pid, toMarker(runFolder))
    if (strays > 0) log.warn(`${strays} processes outlived their group and were killed.`)
    this.#relay?.close()
    const sessionId = this.#drive?.sessionId() ?? null
    const answer = this.#drive?.answer() ?? ''
    const saved = await this.#saveWork(claim)
    const session = sessionId ?? this.#place.facts.session_id
    places.save(this.#place, { session_id: session, used_at: Date.now() })
    places.release(this.#place)
    const detail = [claim.detail, saved.problem].filter(Boolean).join(' ')
    return {
      kind: 'ended',
      end: claim.end,
      detail: detail === '' ? null : log.redact(detail).slice(0, 2_000),
      is_success: claim.isSuccess,
      answer,
      session_id: sessionId === null ? null : places.toHandle(this.#place, sessionId),
      changes: saved.changes,
    }
  }

  async #prepare(): Promise<{ relay: Relay; launch: Launch }> {
    const order = this.#order
    const { log, profile, program } = this.#deps
    const relay = await startRelay({
      order,
      onActivity: () => this.#limits.touch(),
      onTooManyRequests: () =>
        this.#limits.end({
          end: 'max_turn_requests',
          detail: `The run has used its ${order.limits.model_requests} model requests.`,
        }),
      beforePullRequest: async () => {
        await Promise.race([this.#workspace?.push(), wait(pushMs)])
      },
    })
    this.#relay = relay
    log.hide(relay.key)
    await proveTools(order.endpoints.mcp, order.token, this.#limits.signal)
    if (order.workspace) {
      this.#workspace = await openWorkspace({ ...this.#deps, order, place: this.#place })
    }
    const { protocols } = order.model
    const protocol = profile.protocols.find((each) => protocols.includes(each))
    if (!protocol) throw new Error(`${order.program} speaks none of ${protocols.join(', ')}`)
    const { home, work, temp } = this.#place
    const launch = profile.launch({
      order,
      protocol,
      relayUrl: relay.url,
      key: relay.key,
      home,
      work,
      temp,
      programFolder: program.folder,
    })
    for (const [path, text] of Object.entries(launch.files)) {
      writeInside(this.#place.folder, join('home', path), text)
    }
    return { relay, launch }
  }

  #start(launch: Launch, relay: Relay): ChildProcessWithoutNullStreams {
    const { hasSandbox, log, program, runFolder } = this.#deps
    const { folder, home, work, temp } = this.#place
    const env = {
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
      [markerName]: toMarker(runFolder),
      ...launch.env,
    }
    const child = hasSandbox
      ? startInSandbox(
          launch.command,
          {
            folder,
            home,
            temp,
            cwd: work,
            relay: relay.address,
            readable: [program.folder, ...(this.#workspace?.readable ?? [])],
          },
          { env, settingsFile: join(runFolder, 'sandbox.json') },
        )
      : startGroup(launch.command, { cwd: work, env: { ...env, HOME: home, TMPDIR: temp } })
    this.#child = child
    child.on('error', (error) => {
      this.#errors += error.message
    })
    child.stdin.on('error', () => undefined)
    child.stderr.on('data', (data: Buffer) => {
      this.#errors = `${this.#errors}${data}`.slice(-2_000)
    })
    log.info(`${this.#order.agent}: ${this.#order.program} started (process ${child.pid ?? '?'})`)
    return child
  }

  #onUpdate(chars: number): void {
    this.#limits.touch()
    const { output_chars } = this.#order.limits
    if (chars <= output_chars) return
    this.#limits.end({
      end: 'output_limit',
      detail: `The program wrote more than ${output_chars} characters.`,
    })
  }

  /** Returns null when the run must end first. */
  #orEnd<Value>(work: Promise<Value>): Promise<Value | null> {
    return Promise.race([work, this.#limits.ended.then(() => null)])
  }

  /** Fails with what the program wrote when it ends before its turn does. */
  async #orLost(done: Promise<Claim>, child: ChildProcessWithoutNullStreams): Promise<Claim> {
    const gone = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(`code ${code ?? signal}`))
    })
    const lost = async (): Promise<Claim> => {
      const how = await gone
      // What it wrote last may still be in the pipe.
      const claim = await Promise.race([done.catch(() => null), wait(500)])
      const said = this.#errors.trim().slice(-500)
      const detail = `The program ended early (${how}).${said ? ` It wrote: ${said}` : ''}`
      return claim ?? { end: 'lost', detail, isSuccess: false }
    }
    const isGone = lost()
    try {
      return await Promise.race([done, isGone])
    } catch (error) {
      // The connection closes a moment before the process has ended.
      const claim = await Promise.race([isGone, wait(300)])
      if (claim) return claim
      throw error
    }
  }

  async #saveWork(claim: Claim) {
    if (!this.#workspace) return { changes: null, problem: null }
    const isKept = claim.end !== 'cancelled' || claim.keepsWork === true
    return await this.#workspace.finish(isKept)
  }
}
