import type {
  ModelRequestArbiter,
  ModelRequestResult,
  NewRun,
  RunnerApi,
  RunReceiver,
} from '../../../src/agents/contract/coding-agents'
import type { ProgramCallRecorder } from '../../../src/mcp-servers/contract/program-calls'
import type { ActivationId } from '../../../src/shared/ids'
import type { RunReport } from '../../../src/shared/runner-protocol'
import { agentId } from './fake-hub'
import { World } from './world'

type Desk = RunReceiver & ModelRequestArbiter & ProgramCallRecorder

const settled = (over: Partial<ModelRequestResult> = {}): ModelRequestResult => ({
  status: 200,
  finish: 'stop',
  usage: {
    inputTokens: 1_000,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 100,
    reasoningTokens: 0,
  },
  mayBeCharged: true,
  problem: null,
  ...over,
})

export const started = (
  over: Partial<Extract<RunReport, { kind: 'started' }>> = {},
): RunReport => ({
  kind: 'started',
  version: '1.0.0',
  session_id: 's1',
  is_resumed: false,
  ...over,
})

export const ended = (over: Partial<Extract<RunReport, { kind: 'ended' }>> = {}): RunReport => ({
  kind: 'ended',
  end: 'end_turn',
  detail: null,
  is_success: true,
  answer: 'Nine herons.',
  session_id: 's1',
  changes: null,
  ...over,
})

/** What a program does on the machine of a runner, with the requests that it makes to the hub. */
export class FakeRun {
  readonly order: NewRun
  isStopped = false
  /** Aborts when the program leaves its calls, as it does when it ends. */
  readonly left = new AbortController()
  #world: World
  #sent = 0

  constructor(world: World, order: NewRun) {
    this.#world = world
    this.order = order
  }

  get id(): ActivationId {
    return this.order.activation_id as ActivationId
  }

  /** Calls the agent's object once; null when it died meanwhile. */
  once<Result>(name: string, work: (desk: Desk) => Promise<Result>) {
    return this.#world.callFromOutside(name, ({ desk }) => work(desk))
  }

  /** Calls the agent's object until it answers: what is called so is idempotent. */
  async until<Result>(name: string, work: (desk: Desk) => Promise<Result>): Promise<Result> {
    for (let tries = 0; tries < 500; tries++) {
      const answer = await this.once(name, work)
      if (answer) return answer.result
      await scheduler.wait(1)
    }
    throw new Error(`${name} was never answered`)
  }

  async report(...reports: RunReport[]): Promise<boolean> {
    const first = this.#sent + 1
    this.#sent += reports.length
    const { attempt } = this.order
    const answer = await this.until('report', (desk) =>
      desk.receiveReports(this.id, attempt, first, reports),
    )
    return answer !== null
  }

  list(): Promise<void> {
    return this.until('list', (desk) => desk.noteToolsListed(this.id, this.order.attempt))
  }

  /** Asks for a model request; null when it was refused, or when the answer was lost. */
  async admit(promptTokensMax = 5_000, outputTokens: number | null = 200): Promise<number | null> {
    const { attempt } = this.order
    const facts = {
      attempt,
      protocol: 'anthropic-messages',
      model: 'any',
      promptTokensMax,
    } as const
    const answer = await this.once('admit', (desk) =>
      desk.admitRequest(this.id, { ...facts, promptTokens: 1_500, outputTokens }),
    )
    return answer?.result.ok ? answer.result.request : null
  }

  settle(request: number, over: Partial<ModelRequestResult> = {}): Promise<void> {
    return this.until('settle', (desk) => desk.settleRequest(this.id, request, settled(over)))
  }

  /** Makes a model request that is answered, again and again when the hub's answer is lost. */
  async ask(over: Partial<ModelRequestResult> = {}): Promise<boolean> {
    for (let tries = 0; tries < 3; tries++) {
      const request = await this.admit()
      if (request === null) {
        await scheduler.wait(2)
        continue
      }
      await this.settle(request, over)
      return true
    }
    return false
  }
}

/** Runners that start a script for each attempt, once. */
class FakeRunners implements RunnerApi {
  readonly orders: NewRun[] = []
  readonly stops: string[] = []
  readonly runs = new Map<number, FakeRun>()
  kind: 'started' | 'busy' | 'nobody' = 'started'
  readonly #world: World
  readonly #script: (run: FakeRun) => Promise<unknown>

  constructor(world: World, script: (run: FakeRun) => Promise<unknown>) {
    this.#world = world
    this.#script = script
  }

  async start(order: NewRun) {
    const known = this.runs.get(order.attempt)?.id === order.activation_id
    if (this.kind !== 'started' || known) return { kind: this.kind }
    const run = new FakeRun(this.#world, order)
    this.runs.set(order.attempt, run)
    this.orders.push(order)
    void this.#script(run)
    return { kind: this.kind }
  }

  async forgetSessions(): Promise<void> {}

  async stop({ attempt }: Pick<NewRun, 'attempt'>, reason: string): Promise<void> {
    this.stops.push(reason)
    const run = this.runs.get(attempt)
    if (!run || run.isStopped) return
    run.isStopped = true
    run.left.abort()
    void run.report(ended({ end: 'cancelled', is_success: false, answer: '' }))
  }
}

const noModel = () => ({ fails: 'a coding agent calls no model itself' })

/** A hub with an agent that a program works for, and runners that run the script. */
export function createWorld(script: (run: FakeRun, world: World) => Promise<unknown>) {
  const world: World = new World(noModel)
  world.executor = 'claude-code'
  world.model = { id: 'anthropic/one', provider: 'anthropic' }
  const runners = new FakeRunners(world, (run) => script(run, world))
  world.runners = runners
  return { world, runners }
}

/** Runs the agent until its task is answered, booting it again whenever its machine dies. */
export async function live(
  world: World,
  state: DurableObjectState,
  people: (world: World) => void = () => undefined,
): Promise<void> {
  let shell = world.boot(state)
  shell.wake(agentId)
  for (let round = 0; round < 2_000; round++) {
    if (await world.rest(shell)) {
      shell = world.boot(state)
      void shell.alarm()
    } else if (world.hub.isIdle) return
    else {
      await scheduler.wait(1)
      if (round % 10 === 0) void shell.alarm()
      if (world.hub.listOpen().length > 0) {
        people(world)
        shell.wake(agentId)
      } else if (round % 50 === 49) shell.wake(agentId)
    }
  }
  throw new Error(`The run did not end: ${world.points.join(' ')}`)
}

export const begin = async (run: FakeRun) => {
  await run.report(started())
  await run.list()
}

/** A turn with two requests and a write between them. */
export const goodTurn =
  (written: string[]) =>
  async (run: FakeRun): Promise<void> => {
    await begin(run)
    await run.ask({ finish: 'tool-calls' })
    await write(run, written)
    await run.ask()
    await run.report({ kind: 'text', text: 'Nine ' }, { kind: 'text', text: 'herons.' }, ended())
  }

let calls = 0

/** The program writes through the hub, as `/mcp` carries it out. */
export async function write(run: FakeRun, written: string[], text = 'counted'): Promise<void> {
  const callId = `call-${calls++}`
  const call = { callId, tool: 'act', arguments: `{"text":"${text}"}`, isWrite: true }
  const { attempt } = run.order
  const answer = await run.once('begin', (desk) => desk.beginCall(run.id, call, attempt))
  if (answer?.result.kind !== 'run') return
  written.push(text)
  const result = { text: 'done', isError: false, durationMs: 1, resultBytes: 4 }
  await run.until('end', (desk) =>
    desk.endCall(run.id, callId, { ...result, grant: 'hub:write', decision: 'allowed' }),
  )
}
