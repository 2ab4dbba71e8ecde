import type { Definition } from '../../../src/agents/definitions/definition'
import type { Hook } from '../../../src/agents/hooks/hook'
import { createHookRunner, listImpureHooks } from '../../../src/agents/hooks/hook-runner'
import type { LoopEvent, LoopEventOf } from '../../../src/agents/loop/event'
import type { ModelAnswer } from '../../../src/agents/loop/message'
import type { Model, ModelRequest } from '../../../src/agents/models/model-port'
import { RecoveryLane } from '../../../src/agents/recovery'
import type { ReplayDeps } from '../../../src/agents/replay/lane-deps'
import { LaneShell } from '../../../src/agents/replay/lane-shell'
import { parseRecord, type RunRecord } from '../../../src/agents/run/record'
import type { LaneOrder, LaneRenewal, LaneResult, RenewResult } from '../../../src/hub/contract/hub'
import type { ToolApi, ToolCall, ToolCaller } from '../../../src/mcp-servers/contract/tools'
import type { AccountId, ActivationId, ReplayId } from '../../../src/shared/ids'
import { systemClock } from '../../../src/shared/ids'
import { createLog } from '../../../src/shared/log'
import { agentId, FakeHub } from '../shell/fake-hub'
import { createTools } from '../shell/fake-tools'

const laneId = 'lane-1' as ActivationId
const mira = { id: 'mira' as AccountId, name: 'mira', kind: 'human' } as const
const identity = (text: string) => text
const never = new Promise<never>(() => {})

export interface LaneSetup {
  /** As it was stored. */
  record: string
  /** Of the run, and of a draft that names no other. */
  definition: Definition
  draft?: Record<string, string>
  /** Why that definition cannot be read; null when it can. */
  problem?: string | null
  model?: Partial<Model>
  /** Answers in place of the recorded model. */
  script?: (request: ModelRequest) => Partial<ModelAnswer>
  tools?: ToolApi
  moreTools?: string[]
  hooks?: Hook[]
  /** How long an answer in place of the recorded one takes. */
  delayMs?: number
  costMaxMicrousd?: number
  policy?: LaneOrder['policy']
  /** Other parts of what the hub orders. */
  order?: Partial<Pick<LaneOrder, 'by' | 'isAsThen' | 'unreadable' | 'observed'>>
}

type Outcome = Extract<LoopEvent, { type: (typeof outcomeTypes)[number] }>

/** Outcomes of model calls, and what ends a run while its model or tools work. */
const outcomeTypes = [
  ...(['model_answered', 'model_failed', 'compacted', 'model_refused', 'model_waited'] as const),
  ...(['cancel_requested', 'time_ran_out'] as const),
]

const isOutcome = (event: LoopEvent): event is Outcome =>
  outcomeTypes.some((type) => type === event.type)

/**
 * The environment of a lane: the hub's side of replays in memory, and a model that answers and fails as it did in the
 * recorded run. What people and limits did to that run happens to the lane at the same place. Its clock does not wait.
 */
export class LaneWorld {
  readonly results: LaneResult[] = []
  readonly renewals: LaneRenewal[] = []
  readonly asked: ModelRequest[] = []
  /** Calls of the gateway. */
  readonly called: { caller: ToolCaller & { at?: number }; call: ToolCall }[] = []
  readonly started: ActivationId[] = []
  opens = 0
  /** Events of the run when it ended. */
  ended: LoopEvent[] = []
  /** Points before and after each request of the lane; at `killAt` it stops, once. */
  readonly points: string[] = []
  killAt: number | null = null
  isCancelled = false
  /** Why the lane cannot run any more. */
  problem: string | null = null
  /** Fails as often, each before it has done anything. */
  failures = { open: 0, finish: 0 }
  lane: LaneShell | null = null
  readonly #setup: LaneSetup
  readonly #recorded: LoopEvent[]
  #offset = 0
  #epoch = 0
  #killed = Promise.withResolvers<void>()

  constructor(setup: LaneSetup) {
    this.#setup = setup
    this.#recorded = readRun(setup.record).events
  }

  boot(state: DurableObjectState): LaneShell {
    this.lane = new LaneShell(state, this.#createDeps(++this.#epoch))
    return this.lane
  }

  /** Runs the lane to its end; after a stop it is started again, as the sweep of the hub does. */
  async run(state: DurableObjectState): Promise<LaneResult> {
    let lane = this.boot(state)
    let epoch = this.#epoch
    void lane.wake(laneId)
    for (let round = 0; round < 400; round++) {
      if (epoch !== this.#epoch) {
        lane = this.boot(state)
        epoch = this.#epoch
        void lane.wake(laneId)
      }
      await Promise.race([lane.shell.waitUntilIdle(), this.#killed.promise])
      const [result] = this.results
      if (result && lane.shell.readActivation().isCommitted) return result
      await scheduler.wait(1)
      if (round % 10 === 9 && epoch === this.#epoch) void lane.alarm()
    }
    throw new Error(`The lane did not end: ${this.points.join(' ')}`)
  }

  get events(): LoopEvent[] {
    return this.lane?.shell.readActivation().events ?? []
  }

  /** What the recorded run says next. */
  #next(): Outcome | null {
    const done = this.events.filter(isOutcome).length
    return this.#recorded.filter(isOutcome)[done] ?? null
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

  now(): number {
    const at = Date.now() + this.#offset
    const nextAt = this.lane?.shell.readState().nextAt ?? 0
    this.#offset += Math.max(0, nextAt - at)
    return Math.max(at, nextAt)
  }

  #createDeps(epoch: number): ReplayDeps {
    const { hooks = [], definition, problem = null } = this.#setup
    const pure = hooks.filter(({ isPure }) => isPure)
    return {
      replays: {
        openLane: this.#gate(epoch, 'open', async () => this.#open()),
        renewLane: this.#gate(epoch, 'renew', async (request) => this.#renew(request)),
        finishLane: this.#gate(epoch, 'finish', async (_id, _now, result) => {
          if (this.failures.finish-- > 0) throw new Error('away')
          this.ended = [...this.events]
          if (this.results.length === 0) this.results.push(result)
          return { next: this.results.length === 1 ? ['lane-2' as ActivationId] : [] }
        }),
      },
      readConnections: async () => [],
      hooks: createHookRunner(pure, { redact: identity, now: Date.now, report: () => {} }),
      listImpureHooks: (switches) => listImpureHooks(hooks, switches),
      startLanes: async (ids) => void this.started.push(...ids),
      // a lane has others
      agent: {
        hub: new FakeHub().api,
        hooks: createHookRunner([], { redact: identity, now: Date.now, report: () => {} }),
        tools: this.#createTools(epoch),
        models: {
          resolve: ({ override, model, provider }) => ({
            model: this.#createModel(
              epoch,
              override ?? (model ? `${provider}/${model}` : this.#recordedModel),
            ),
            substitutedFor: null,
          }),
        },
        runners: {
          start: async () => ({ kind: 'nobody' }),
          stop: async () => undefined,
          forgetSessions: async () => undefined,
        },
        approvalWaitMs: 1,
        patches: { save: async () => undefined },
        definitions: {
          read: async () =>
            problem === null ? { ok: true, definition } : { ok: false, message: problem },
        },
        media: { get: async () => null },
        wakeAgents: async () => {},
        clock: { now: () => this.now(), newId: systemClock.newId },
        lane: new RecoveryLane(systemClock),
        hubName: 'Test',
        mask: identity,
        log: createLog({ level: 'error', redact: identity, now: Date.now, write: () => {} }),
        random: () => 0,
        capacity: 50,
      },
    }
  }

  get #recordedModel(): string {
    const loaded = this.#recorded.find((event) => event.type === 'loaded')
    return loaded?.facts.model.id ?? 'fake/one'
  }

  #open(): LaneOrder | null {
    this.opens++
    if (this.failures.open-- > 0) throw new Error('away')
    if (this.results.length > 0 || this.isCancelled) return null
    const { record, draft, costMaxMicrousd = 1e9 } = this.#setup
    const loaded = this.#recorded.find((event) => event.type === 'loaded')
    return {
      replayId: 'replay' as ReplayId,
      isAsThen: true,
      lane: draft ? 'candidate' : 'baseline',
      sample: 1,
      observed: {
        activationId: 'observed' as ActivationId,
        startedAt: loaded?.at ?? 0,
        record,
        definition: loaded?.facts.definition ?? { version: 1, etag: 'e' },
      },
      agent: { id: agentId, name: loaded?.facts.agentName ?? '', kind: 'agent', description: '' },
      draft: draft ?? null,
      by: mira,
      policy: this.#setup.policy ?? { requested: [], allowed: ['*'], denied: [] },
      unreadable: '[]',
      problem: this.problem,
      costMaxMicrousd,
      ...this.#setup.order,
    }
  }

  #renew(request: LaneRenewal): RenewResult {
    this.renewals.push(request)
    if (this.isCancelled) return { kind: 'refused', reason: 'lost' }
    const next = this.#setup.script ? null : this.#next()
    if (next?.type === 'model_refused') {
      const { reason, shortage } = next
      return reason === 'budget_exhausted'
        ? { kind: 'refused', reason, ...(shortage && { shortage }) }
        : { kind: 'refused', reason }
    }
    if (next?.type === 'model_waited') {
      return { kind: 'wait', reason: 'money_reserved', retryAt: this.now() + 60_000 }
    }
    return {
      kind: 'renewed',
      reservation: request.want,
      policy: { requested: [], allowed: ['*'], denied: [] },
      budgets: [],
      environment: { inboxDepth: 3, runningActivations: 9 },
    }
  }

  #createTools(epoch: number): ToolApi {
    const tools = this.#setup.tools ?? createTools(this.#setup.moreTools ?? [])
    return {
      ...tools,
      call: this.#gate(epoch, 'tool', async (caller, call, ...link) => {
        this.called.push({ caller, call })
        if (this.#setup.tools) return tools.call(caller, call, ...link)
        // what the recorded run still waited for when it was stopped
        for (;;) {
          const next = this.#next()
          const isStopped = next?.type === 'cancel_requested' || next?.type === 'time_ran_out'
          const missing = this.#countResults(this.#recorded) - this.#countResults(this.events)
          if (isStopped && missing <= 0) return this.#stop(next.type)
          await scheduler.wait(1)
        }
      }),
    }
  }

  #countResults(events: LoopEvent[]): number {
    return events.filter(({ type }) => type === 'tool_returned' || type === 'tool_parked').length
  }

  async #stop(type: 'cancel_requested' | 'time_ran_out'): Promise<never> {
    if (type === 'cancel_requested') void this.lane?.cancel()
    else {
      this.#offset += 10 * 3_600_000
      void this.lane?.alarm()
    }
    return never
  }

  #createModel(epoch: number, id: string): Model {
    return {
      id,
      provider: id.split('/')[0] ?? id,
      isOffline: false,
      contextTokens: 100_000,
      outputTokensMax: 1_000,
      prices: { input: 1_000_000, cached: 100_000, output: 5_000_000 },
      ...this.#setup.model,
      call: this.#gate(epoch, 'model', async (request) => {
        this.asked.push(request)
        const { script, delayMs = 0 } = this.#setup
        if (script) {
          const answer = toAnswer(script(request))
          await scheduler.wait(delayMs, { signal: request.signal }).catch(() => undefined)
          return { ok: true, answer }
        }
        const next = this.#next()
        switch (next?.type) {
          case 'model_answered':
            return { ok: true, answer: next.answer }
          case 'model_failed':
            return { ok: false, failure: next.failure }
          case 'compacted':
            return toSummaryResult(next)
          case 'cancel_requested':
          case 'time_ran_out':
            return this.#stop(next.type)
          default:
            throw new Error(`the recorded model has nothing more to say: ${next?.type}`)
        }
      }),
    }
  }
}

/** Returns a stored run. */
export function readRun(stored: string): RunRecord {
  const parsed = parseRecord(stored)
  if (!parsed.ok) throw new Error(parsed.problem)
  return parsed.record
}

/** Returns what the model said to a compaction: a summary, or that it failed. */
function toSummaryResult({ charge, problem, summary }: LoopEventOf<'compacted'>) {
  if (problem !== null) {
    const mayBeCharged = charge !== null
    const failure = { code: 'NETWORK', message: problem, isRetryable: true } as const
    return { ok: false as const, failure: { ...failure, retryAfterMs: null, mayBeCharged } }
  }
  const usage = charge && !charge.isEstimated ? charge : null
  return { ok: true as const, answer: toAnswer({ text: summary, usage }) }
}

function toAnswer(answer: Partial<ModelAnswer>): ModelAnswer {
  const calls = answer.calls ?? []
  const finish = calls.length > 0 ? ('tool-calls' as const) : ('stop' as const)
  return { text: '', reasoning: '', usage: null, finish, ...answer, calls }
}

/** Fields that are times, durations and ids. */
const looseFields = new Set([
  'at',
  'startedAt',
  'durationMs',
  'retryAt',
  'effectId',
  'nextEffectId',
  'activationId',
  'hasMore',
  'jitter',
  'definitionEtag',
  // a lane reserves its money with its first renewal
  'reservation',
  // known only to the process that made the call before
  'prefixShare',
])

/** Events that say when a run waited, was woken or interrupted, and not what it did. */
const looseTypes = new Set<LoopEvent['type']>([
  ...(['woken', 'load_waited', 'load_failed', 'interrupted', 'slept'] as const),
  ...(['commit_failed', 'park_failed', 'committed'] as const),
])

/** Returns what a run did, without times, durations and ids. */
export const toDeeds = (events: LoopEvent[], drop: readonly string[] = []): unknown[] =>
  sortResults(nameTools(events)).map((event) =>
    JSON.parse(
      JSON.stringify(event, (key, value) => {
        if (looseFields.has(key) || drop.includes(key)) return undefined
        return key === 'status' ? toSteadyStatus(value) : value
      }),
    ),
  )

/** Sorts the results of one answer: its calls run at the same time. */
function sortResults(events: LoopEvent[]): LoopEvent[] {
  const sorted: LoopEvent[] = []
  let results: { callId: string; event: LoopEvent }[] = []
  const flush = () => {
    results.sort((a, b) => (a.callId < b.callId ? -1 : 1))
    sorted.push(...results.map(({ event }) => event))
    results = []
  }
  for (const event of events) {
    if (event.type === 'tool_returned' || event.type === 'tool_parked') {
      results.push({ callId: event.callId, event })
      continue
    }
    if (looseTypes.has(event.type)) continue
    flush()
    sorted.push(event)
  }
  flush()
  return sorted
}

/** Names the tools in every request: only some do, as they are mostly those of the one before. */
function nameTools(events: LoopEvent[]): LoopEvent[] {
  let offered = {}
  return events.map((event) => {
    if (event.type !== 'model_answered' && event.type !== 'model_failed') return event
    const { tools, toolsHash } = event.request ?? {}
    if (tools) offered = { tools, toolsHash }
    return event.request ? { ...event, request: { ...event.request, ...offered } } : event
  })
}

/** Returns a status without the time, the seconds that are left and the size of the storage. */
const toSteadyStatus = (status: string): string =>
  status
    .replace(/Time: [^ ]+\. /, '')
    .replace(/, \d+ s\./, '.')
    .replace(/\d+ KiB/, 'KiB')
