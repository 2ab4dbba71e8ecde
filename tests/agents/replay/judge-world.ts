import { createHookRunner } from '../../../src/agents/hooks/hook-runner'
import type { ModelRegistry } from '../../../src/agents/models/model-port'
import { createModelRegistry } from '../../../src/agents/models/registry'
import { RecoveryLane } from '../../../src/agents/recovery'
import type { ReplayDeps } from '../../../src/agents/replay/lane-deps'
import { LaneShell } from '../../../src/agents/replay/lane-shell'
import { LaneStore } from '../../../src/agents/replay/lane-store'
import type {
  JudgeOrder,
  LaneRenewal,
  LaneResult,
  RenewResult,
} from '../../../src/hub/contract/hub'
import type { ActivationId } from '../../../src/shared/ids'
import { systemClock } from '../../../src/shared/ids'
import { createLog } from '../../../src/shared/log'
import { readSettings } from '../../../src/shared/settings'
import type { FakeAnswer } from '../../support/fake-model-wire'
import { toChatEvents } from '../../support/fake-wire-chat'
import { FakeHub } from '../shell/fake-hub'
import { createTools } from '../shell/fake-tools'
import { inObject } from '../shell/world'

const never = new Promise<never>(() => {})
const identity = (text: string) => text
const judgeId = 'lane-1' as ActivationId
/** 1 and 5 dollars per million tokens. */
export const judgeModel = 'openai-compatible/judge'

export const orderOf = (fields: Partial<JudgeOrder> = {}): JudgeOrder => ({
  lane: 'judge',
  model: judgeModel,
  question: 'Why?',
  first: 'Because of frost.',
  second: 'Because.',
  note: '',
  problem: null,
  costMaxMicrousd: 1_000_000,
  ...fields,
})

/** What a model is sent, as one text. */
export type Answers = (prompt: string, call: number) => FakeAnswer | Promise<FakeAnswer>

/** Creates models of a provider that answers so, with its wire protocol. */
export function createJudges(answers: Answers) {
  const prompts: string[] = []
  const settings = readSettings({
    OPENAI_COMPATIBLE_API_KEY: 'key',
    OPENAI_COMPATIBLE_BASE_URL: 'https://models.example/v1',
    ROOKERY_PRICES: JSON.stringify({
      judge: { prices: { input: 1, output: 5 }, contextTokens: 100_000 },
    }),
  })
  const models = createModelRegistry(settings, {
    fetch: async (_url, init) => {
      const body = JSON.parse(String(init?.body))
      const prompt = body.messages.map((each: { content: string }) => each.content).join('\n\n')
      prompts.push(prompt)
      const answer = await answers(prompt, prompts.length)
      if (answer.status)
        return Response.json({ error: { message: 'busy' } }, { status: answer.status })
      const { content, ending } = toChatEvents(answer, 'judge', String(prompts.length))
      const events = answer.fault === 'end' ? content : [...content, ...ending]
      return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return { models, prompts }
}

/** The environment of a lane that compares two answers, in memory. Its clock does not wait. */
export class JudgeWorld {
  readonly renewals: LaneRenewal[] = []
  readonly results: LaneResult[] = []
  readonly points: string[] = []
  killAt: number | null = null
  isCancelled = false
  /** Fails as often, each before it has done anything. */
  failures = { open: 0, renew: 0, finish: 0 }
  /** What the hub answers to renewals, in turn, before it grants them. */
  refusals: RenewResult[] = []
  lane: LaneShell | null = null
  readonly #order: JudgeOrder
  readonly #models: Pick<ModelRegistry, 'resolve'>
  #state: DurableObjectState | null = null
  #epoch = 0
  #hasEnded = false
  #offset = 0

  constructor(order: JudgeOrder, models: Pick<ModelRegistry, 'resolve'>) {
    this.#order = order
    this.#models = models
  }

  run(): Promise<LaneResult | null> {
    return inObject((state) => this.#run(state))
  }

  /** Runs the lane to its end, and starts it again after a stop, as the sweep of the hub does. */
  async #run(state: DurableObjectState): Promise<LaneResult | null> {
    this.#state = state
    let epoch = -1
    for (let round = 0; round < 2_000; round++) {
      if (epoch !== this.#epoch) {
        epoch = this.#epoch
        this.lane = new LaneShell(state, this.#createDeps(epoch))
        void this.lane.wake(judgeId)
      }
      await scheduler.wait(1)
      const isOver = this.#hasEnded || new LaneStore(state.storage.sql).read('isFinished')
      if (isOver) return this.results[0] ?? null
      if (round % 20 === 19) void this.lane?.alarm()
    }
    throw new Error(`The lane did not end: ${this.points.join(' ')}`)
  }

  pass(ms: number): void {
    this.#offset += ms
  }

  #now(): number {
    const at = Date.now() + this.#offset
    const retryAt = this.#state && new LaneStore(this.#state.storage.sql).read('judge')?.retryAt
    this.#offset += Math.max(0, (retryAt ?? 0) - at)
    return Math.max(at, retryAt ?? 0)
  }

  async #gate<Result>(epoch: number, name: string, work: () => Promise<Result>): Promise<Result> {
    await this.#pass(epoch, `${name}.before`)
    const result = await work()
    await this.#pass(epoch, `${name}.after`)
    return result
  }

  async #pass(epoch: number, point: string): Promise<void> {
    if (epoch !== this.#epoch) return never
    this.points.push(point)
    if (this.points.length !== this.killAt) return
    this.#epoch++
    return never
  }

  #fail(what: keyof JudgeWorld['failures']): void {
    if (this.failures[what]-- > 0) throw new Error('away')
  }

  #createDeps(epoch: number): ReplayDeps {
    const log = createLog({ level: 'error', redact: identity, now: Date.now, write: () => {} })
    return {
      replays: {
        openLane: () =>
          this.#gate(epoch, 'open', async () => {
            this.#fail('open')
            // the hub has its result
            this.#hasEnded = this.results.length > 0
            return this.#hasEnded ? null : this.#order
          }),
        renewLane: (request) =>
          this.#gate(epoch, 'renew', async () => {
            this.#fail('renew')
            return this.#renew(request)
          }),
        finishLane: (_id, _now, result) =>
          this.#gate(epoch, 'finish', async () => {
            this.#fail('finish')
            if (this.results.length === 0) this.results.push(result)
            return { next: [] }
          }),
      },
      readConnections: async () => [],
      hooks: createHookRunner([], { redact: identity, now: Date.now, report: () => {} }),
      listImpureHooks: () => [],
      startLanes: async () => undefined,
      agent: {
        hub: new FakeHub().api,
        hooks: createHookRunner([], { redact: identity, now: Date.now, report: () => {} }),
        tools: createTools([]),
        models: { resolve: (...of) => this.#gateModel(epoch, this.#models.resolve(...of)) },
        runners: {
          start: async () => ({ kind: 'nobody' }),
          stop: async () => undefined,
          forgetSessions: async () => undefined,
        },
        approvalWaitMs: 1,
        patches: { save: async () => undefined },
        definitions: { read: async () => ({ ok: false, message: 'none' }) },
        media: { get: async () => null },
        wakeAgents: async () => {},
        clock: { now: () => this.#now(), newId: systemClock.newId },
        lane: new RecoveryLane(systemClock),
        hubName: 'Test',
        mask: (text) => text.replaceAll('sk-secret', '***'),
        log,
        random: () => 0,
        capacity: 50,
      },
    }
  }

  #gateModel(epoch: number, { model, ...rest }: ReturnType<ModelRegistry['resolve']>) {
    const call: typeof model.call = (request) =>
      this.#gate(epoch, 'model', () => model.call(request))
    return { ...rest, model: { ...model, call } }
  }

  #renew(request: LaneRenewal): RenewResult {
    this.renewals.push(request)
    if (this.isCancelled) return { kind: 'refused', reason: 'lost' }
    return (
      this.refusals.shift() ?? {
        kind: 'renewed',
        reservation: request.want,
        policy: { requested: [], allowed: [], denied: [] },
        budgets: [],
        environment: { inboxDepth: 0, runningActivations: 1 },
      }
    )
  }
}

/** Returns what a lane stored of its comparison. */
export const readAnswer = (result: LaneResult | null): { says: string; reason: string } =>
  JSON.parse(result?.answer ?? '{}')
