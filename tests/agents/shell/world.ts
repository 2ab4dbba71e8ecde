import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { AgentShell } from '../../../src/agents/agent-shell'
import type { RunnerApi } from '../../../src/agents/contract/coding-agents'
import { type Definition, toDefinition } from '../../../src/agents/definitions/definition'
import type { AgentDeps } from '../../../src/agents/effects/effect-context'
import type { Hook } from '../../../src/agents/hooks/hook'
import { createHookRunner } from '../../../src/agents/hooks/hook-runner'
import type { ModelAnswer, ModelFailure } from '../../../src/agents/loop/message'
import type { Model, ModelRequest } from '../../../src/agents/models/model-port'
import { RecoveryLane } from '../../../src/agents/recovery'
import { ActivationStream } from '../../../src/agents/run/live-stream'
import type { ToolCall, ToolCaller, ToolResult } from '../../../src/mcp-servers/contract/tools'
import { systemClock } from '../../../src/shared/ids'
import { createLog } from '../../../src/shared/log'
import { agentId, FakeHub } from './fake-hub'
import { createTools, failure, toApproval, toResult } from './fake-tools'

export type Answer = Partial<ModelAnswer> | { fails: string } | { failure: ModelFailure } | 'hang'
export type Script = (request: ModelRequest, modelId: string) => Answer

const definition = toDefinition(
  { name: 'scout', behavior: { max_tokens: 1_000_000 }, capabilities: { grants: ['hub:read'] } },
  'soul',
  [],
)

const never = new Promise<never>(() => {})
const identity = (text: string) => text

/**
 * The environment of an agent object, in memory, with a point before and after each request of the
 * object at which the machine can be stopped. Requests of a stopped shell are never answered. Names
 * of tools say what they do: `look`, `act` (requires approval), `hang` and all whose name ends so, `break`.
 */
export class World {
  readonly hub = new FakeHub()
  readonly points: string[] = []
  readonly asked: ModelRequest[] = []
  /** Results of tools, by activation and call: the same key runs once. */
  readonly ran = new Map<string, string>()
  readonly called: ToolCall[] = []
  /** Versions of the definition that were read from the store. */
  readonly defined: string[] = []
  /** Stops the machine at this point, once. */
  killAt: number | null = null
  model: Partial<Model> = {}
  /** The token limit of one activation. */
  tokensMax = definition.limits.tokens
  /** Why the definition cannot be read; null when it can. */
  undefinedBecause: string | null = null
  hooks: Hook[] = []
  /** What runs the agent's tasks. */
  executor: Definition['executor'] = 'native'
  runners: RunnerApi = {
    start: async () => ({ kind: 'nobody' }),
    stop: async () => undefined,
    forgetSessions: async () => undefined,
  }
  moreTools: string[] = []
  approvalWaitMs = 60_000
  /** The repository that its program works on; null: none. */
  repository: string | null = null
  /** Patches that were stored, by attempt. */
  readonly patches = new Map<number, string>()
  /** Why no patch can be stored; null when one can. */
  patchProblem: string | null = null
  /** Of the process that was started last. */
  lane = new RecoveryLane(systemClock)
  /** The shell that was booted last. */
  shell: AgentShell | null = null
  #epoch = 0
  /** How far its clock is ahead, in milliseconds. */
  #lead = 0
  readonly #epochOf = new WeakMap<AgentShell, number>()
  #killed = Promise.withResolvers<void>()
  readonly #script: Script

  constructor(script: Script) {
    this.#script = script
  }

  boot(state: DurableObjectState): AgentShell {
    this.lane = new RecoveryLane(systemClock)
    const stream = new ActivationStream(state, identity)
    const shell = new AgentShell(state.storage, this.#createDeps(++this.#epoch), stream)
    this.#epochOf.set(shell, this.#epoch)
    this.shell = shell
    return shell
  }

  /** Lets the time limit of the running activation pass. */
  endTime(): void {
    this.#lead += 10 * 3_600_000
    setTimeout(() => void this.shell?.alarm(), 1)
  }

  /** Resolves when the shell has nothing running; true when the machine was stopped first. */
  async rest(shell: AgentShell): Promise<boolean> {
    const isKilled = () => this.#epochOf.get(shell) !== this.#epoch
    if (!isKilled()) await Promise.race([shell.waitUntilIdle(), this.#killed.promise])
    return isKilled()
  }

  /** Calls the object from outside; it may die before the call or before its answer. Null: it died. */
  async callFromOutside<Result>(
    name: string,
    work: (shell: AgentShell) => Promise<Result>,
  ): Promise<{ result: Result } | null> {
    const { shell } = this
    const epoch = this.#epoch
    if (!shell || this.#epochOf.get(shell) !== epoch) return null
    const killed = this.#killed.promise
    const call = this.#gate(epoch, name, () => work(shell))()
    return Promise.race([call.then((result) => ({ result })), killed.then(() => null)])
  }

  async #pass(epoch: number, point: string): Promise<void> {
    if (epoch !== this.#epoch) return never
    this.points.push(point)
    if (this.points.length !== this.killAt) return
    this.#epoch++
    this.#killed.resolve()
    this.#killed = Promise.withResolvers()
    return never
  }

  #gate<Args extends unknown[], Result>(
    epoch: number,
    name: string,
    work: (...args: Args) => Promise<Result>,
  ) {
    return async (...args: Args): Promise<Result> => {
      await this.#pass(epoch, `${name}.before`)
      const result = await work(...args)
      await this.#pass(epoch, `${name}.after`)
      return result
    }
  }

  #createDeps(epoch: number): AgentDeps {
    const { api } = this.hub
    return {
      hub: {
        load: this.#gate(epoch, 'load', api.load),
        renew: this.#gate(epoch, 'renew', api.renew),
        steer: this.#gate(epoch, 'steer', api.steer),
        park: this.#gate(epoch, 'park', api.park),
        notifyRequesters: this.#gate(epoch, 'tell', api.notifyRequesters),
        commit: this.#gate(epoch, 'commit', api.commit),
        dropChangedRequests: api.dropChangedRequests,
        readConnections: api.readConnections,
        endOutage: api.endOutage,
        publishProgress: api.publishProgress,
      },
      media: { get: async () => null },
      tools: {
        ...createTools(this.moreTools),
        call: this.#gate(epoch, 'tool', (caller, call, signal) =>
          this.#callTool(caller, call, signal),
        ),
      },
      runners: {
        start: this.#gate(epoch, 'start', (run) => this.runners.start(run)),
        stop: this.#gate(epoch, 'stop', (run, reason) => this.runners.stop(run, reason)),
        forgetSessions: (ids) => this.runners.forgetSessions(ids),
      },
      patches: {
        save: this.#gate(epoch, 'patch', async ({ attempt }, patch) => {
          if (this.patchProblem !== null) throw new Error(this.patchProblem)
          this.patches.set(attempt, patch)
        }),
      },
      models: {
        resolve: ({ override }) => ({
          model: this.#createModel(epoch, override ?? 'fake/one'),
          substitutedFor: null,
        }),
      },
      definitions: {
        read: async (_name, etag) =>
          this.undefinedBecause === null
            ? { ok: true, definition: this.define(etag) }
            : { ok: false, message: this.undefinedBecause },
      },
      hooks: createHookRunner(this.hooks, { redact: identity, now: Date.now, report: () => {} }),
      wakeAgents: async () => {},
      clock: { ...systemClock, now: () => systemClock.now() + this.#lead },
      lane: this.lane,
      hubName: 'Test',
      mask: identity,
      log: createLog({ level: 'error', redact: identity, now: Date.now, write: () => {} }),
      random: () => 0,
      approvalWaitMs: this.approvalWaitMs,
      capacity: 50,
    }
  }

  /** Each version has a slightly higher temperature than the one before. */
  define(etag: string): Definition {
    this.defined.push(etag)
    const temperature = etag === 'first' ? 0.1 : 0.2
    const limits = { ...definition.limits, tokens: this.tokensMax }
    const { executor, repository } = this
    const workspace = repository === null ? null : { repository, ref: null, push: ['rookery/*'] }
    const coding = { ...definition.coding, workspace }
    return {
      ...definition,
      executor,
      coding,
      limits,
      systemPrompt: `soul ${etag}`,
      brain: { temperature },
    }
  }

  #createModel(epoch: number, id: string): Model {
    return {
      id,
      provider: 'fake',
      isOffline: false,
      contextTokens: 100_000,
      outputTokensMax: 1_000,
      prices: { input: 1_000_000, cached: 100_000, output: 5_000_000 },
      ...this.model,
      call: this.#gate(epoch, 'model', async (request) => {
        this.asked.push(request)
        const answer = this.#script(request, id)
        if (answer === 'hang') return never
        if ('failure' in answer) return { ok: false, failure: answer.failure }
        if ('fails' in answer) return { ok: false, failure: failure(answer.fails) }
        const calls = answer.calls ?? []
        const base = { text: '', reasoning: '', calls, usage: null } as const
        const finish = calls.length > 0 ? ('tool-calls' as const) : ('stop' as const)
        return { ok: true, answer: { ...base, finish, ...answer } }
      }),
    }
  }

  async #callTool(caller: ToolCaller, call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
    this.called.push(call)
    const key = `${caller.activationId}:${call.callId}`
    if (call.tool === 'break') throw new TypeError('in private')
    if (call.tool.endsWith('hang')) {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      return toResult(call, 'Error: cancelled', true)
    }
    if (call.tool !== 'act') return toResult(call, this.#run(key, `${call.tool} saw it`))
    const decision = this.hub.decided.get(key)
    if (!decision) return { ...toResult(call, 'waits'), approval: toApproval(call) }
    if (decision.decision !== 'approved') return toResult(call, 'Error: denied', true)
    return toResult(call, this.#run(key, `did ${call.arguments}`))
  }

  #run(key: string, text: string): string {
    const before = this.ran.get(key)
    if (before === undefined) this.ran.set(key, text)
    return before ?? text
  }
}

let objects = 0

/** Runs work in the storage of a new object. */
export const inObject = <Result>(work: (state: DurableObjectState) => Promise<Result>) =>
  runInDurableObject(env.AGENTS.getByName(`shell-${objects++}`), (_agent, state) => work(state))

/**
 * Runs the agent until the hub has nothing more for it: boots it again after a stop of the machine,
 * lets `people` act when it is quiet, and wakes it when something is left, as a sweep does.
 */
export async function live(
  world: World,
  state: DurableObjectState,
  people: (world: World) => void = approveAll,
): Promise<AgentShell> {
  let shell = world.boot(state)
  shell.wake(agentId)
  for (let round = 0; round < 100; round++) {
    if (await world.rest(shell)) {
      shell = world.boot(state)
      void shell.alarm()
      continue
    }
    if (world.hub.isIdle) return shell
    people(world)
    shell.wake(agentId)
    // a long activation continues in the next event of the platform
    void shell.alarm()
  }
  throw new Error(`The run did not end: ${world.points.join(' ')}`)
}

export const approveAll = ({ hub }: World): void => {
  for (const { activationId, callId } of hub.listOpen()) hub.decide(activationId, callId)
}

export const callOf = (callId: string, name: string, args = '{}') => ({
  callId,
  name,
  arguments: args,
})

/** Counts the groups of tool results in a prompt: the number of the round. */
export const countResults = ({ messages }: ModelRequest): number =>
  messages.slice(messages.findLastIndex(isTask)).filter(({ role }) => role === 'tool').length

const isTask = ({ role, ...message }: ModelRequest['messages'][number]): boolean =>
  role === 'user' && 'text' in message && message.text.includes('asks="true"')
