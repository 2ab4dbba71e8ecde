import type {
  ModelRequestAdmission,
  ModelRequestResult,
} from '../../../src/agents/contract/coding-agents'
import { toDefinition } from '../../../src/agents/definitions/definition'
import { describeActivation } from '../../../src/agents/effects/commit'
import type { AgentDeps, EffectContext } from '../../../src/agents/effects/effect-context'
import { ProgramDesk } from '../../../src/agents/effects/program-desk'
import { chargeOpen } from '../../../src/agents/effects/run-program'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { sumOpen } from '../../../src/agents/loop/program'
import { initialState, type LoopState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import type { Usage } from '../../../src/hub/contract/hub'
import type { ActivationId } from '../../../src/shared/ids'
import { facts } from '../../agents/loop/scenario'
import type { SpendingWorld } from './spending-world'

const definition = toDefinition({ name: 'flock', behavior: { max_tokens: 100_000 } }, 'soul', [])
const limits = { iterations: 40, tokens: 100_000, durationMs: 60_000, contextTokens: 8_000 }
const modelId = 'near/a'
/** A micro-dollar a token, and five for each of the answer; odd prices for what the cache takes. */
const prices = { input: 1_000_000, cached: 130_000, cacheWrite: 1_270_000, output: 4_930_000 }
const model = { id: modelId, provider: 'anthropic', isOffline: false, outputTokensMax: 300, prices }

/** The machine of the agent stopped before it answered. */
class Gone extends Error {}

/** Returns the answer of the agent's object; null when its machine stopped. */
const askFor = <Answer>(asked: Promise<Answer>): Promise<Answer | null> =>
  asked.catch((error: unknown) => {
    if (error instanceof Gone) return null
    throw error
  })

/** What the model gateway says of a request: shares of what it may use, or no usage. */
export interface Ending {
  input: number
  written: number
  output: number
  how: 'counted' | 'uncounted' | 'unbilled' | 'nonsense'
}

/**
 * A run of a coding agent on the real hub: the loop and what admits and settles model requests, without a machine. What
 * it holds in memory is lost when it is killed, and follows from its events again.
 */
export class ProgramSpender {
  readonly id: ActivationId
  readonly #world: SpendingWorld
  readonly #index: number
  events: LoopEvent[] = []
  state: LoopState = initialState
  usage: Usage[] = []
  /** What the loop had counted at its end. */
  spent = 0
  /** Answers to requests, for what a test has to have met. */
  readonly answers: ModelRequestAdmission[] = []
  #epoch = 0
  #boot: { context: EffectContext; desk: ProgramDesk }

  constructor(world: SpendingWorld, index: number) {
    this.#world = world
    this.#index = index
    this.id = world.office.newId<ActivationId>()
    this.#boot = this.#start()
  }

  get agentId() {
    const agent = this.#world.flock[this.#index]
    if (!agent) throw new Error('no such agent')
    return agent.id
  }

  get isWorking(): boolean {
    return this.state.phase !== 'idle'
  }

  get open() {
    return this.state.program?.open ?? []
  }

  /** What it has spent, and may still spend by what it has admitted. */
  get bound() {
    const open = sumOpen({ open: this.open })
    return {
      microusd: this.state.microusd + open.microusd,
      tokens: this.state.tokens + open.tokens,
    }
  }

  #apply(event: LoopEvent): void {
    const next = step(this.state, event)
    if (next.state === this.state) return
    this.events.push(event)
    this.state = next.state
  }

  #start() {
    const epoch = ++this.#epoch
    const { hubApi, hub } = this.#world
    const check = () => {
      if (epoch !== this.#epoch) throw new Gone()
    }
    const nothing = () => undefined
    const deps = {
      hub: { ...hubApi, readConnections: async () => [], publishProgress: async () => {} },
      models: { resolve: () => ({ model, substitutedFor: null }) },
      definitions: {
        read: async () => ({ ok: true, definition: { ...definition, executor: 'claude-code' } }),
      },
      clock: hub.clock,
    }
    const context = {
      deps: deps as never as AgentDeps,
      agentId: this.agentId,
      definition: null,
      hubSnapshot: null,
      connections: null,
      doing: null,
      waitReason: null,
      stream: { publishDoing: nothing } as never,
      getActivation: () => {
        check()
        return { state: this.state, events: this.events }
      },
    } as Partial<EffectContext> as EffectContext
    const desk = new ProgramDesk(context, (event) => {
      check()
      this.#apply(event)
    })
    return { context, desk }
  }

  /** The machine of the agent stops, and another one goes on from what was written down. */
  kill(): void {
    this.state = this.events.reduce((before, event) => step(before, event).state, initialState)
    this.#boot = this.#start()
  }

  /** Starts the run; false while its money is reserved by others. */
  async load(): Promise<boolean> {
    const { hubApi, hub } = this.#world
    const at = hub.clock.now()
    const request = { activationId: this.id, agentId: this.agentId, now: at, canExplore: false }
    const answer = await hubApi.load({ ...request, capacity: 100 })
    if (answer.kind === 'wait') return false
    if (answer.kind !== 'loaded') throw new Error(answer.kind)
    const { reservation, admission } = answer
    this.#apply({
      type: 'woken',
      at,
      activationId: this.id,
      replyId: 'reply' as never,
      reportId: 'report' as never,
    })
    const program = { type: 'claude-code', takesTools: false } as const
    const loaded = { limits, program, reservation, admission, reservedModel: modelId }
    const about = { model: { id: modelId, isOffline: false, substitutedFor: null } }
    this.#apply({ type: 'loaded', at, effectId: 1, facts: facts({ ...loaded, ...about }) })
    if (admission === 'granted') this.#boot.context.hubSnapshot = answer
    else await this.finish()
    return true
  }

  /** Asks for a model request; the machine may die before the answer. */
  async admit(promptTokensMax: number, outputTokens: number | null, dies = false): Promise<void> {
    const size = { promptTokensMax, promptTokens: Math.ceil(promptTokensMax / 4), outputTokens }
    const facts = { protocol: 'anthropic-messages', model: 'any', ...size } as const
    const asked = askFor(this.#boot.desk.admitRequest(this.id, facts))
    if (dies) {
      await Promise.resolve()
      this.kill()
    }
    const answer = await asked
    if (answer) this.answers.push(answer)
  }

  /** The gateway reports how a request ended, perhaps twice. */
  async settle(choice: number, { input, written, output, how }: Ending): Promise<void> {
    const found = this.open[choice % Math.max(1, this.open.length)]
    if (!found) return
    const { worst, request } = found
    const inputTokens = how === 'nonsense' ? -5 : Math.floor(input * worst.inputTokens)
    const usage = {
      inputTokens,
      cachedTokens: 0,
      reasoningTokens: 0,
      cacheWriteTokens: Math.max(0, Math.floor(written * inputTokens)),
      outputTokens: Math.floor(output * worst.outputTokens),
    }
    const isCounted = how === 'counted' || how === 'nonsense'
    const result: ModelRequestResult = {
      status: 200,
      finish: isCounted ? 'tool-calls' : 'error',
      problem: null,
      usage: isCounted ? usage : null,
      mayBeCharged: how !== 'unbilled',
    }
    const report = () => askFor(this.#boot.desk.settleRequest(this.id, request, result))
    await report()
    if (choice % 3 === 0) await report()
  }

  /** The runner is lost, or reports the end of the program. */
  async lose(choice: number): Promise<void> {
    const { attempt = 1, reports = 0 } = this.state.program ?? {}
    const { desk } = this.#boot
    if (choice % 3 > 0) {
      await askFor(desk.loseRun(this.id, attempt, 'gone'))
      return
    }
    await desk.receiveReports(this.id, attempt, reports + 1, [
      {
        kind: 'ended',
        end: 'end_turn',
        detail: null,
        is_success: true,
        answer: 'Done.',
        session_id: 's',
        changes: null,
      },
    ])
  }

  /** Ends the run: what nobody has reported is charged its worst case, and everything is settled with the hub. */
  async finish(): Promise<void> {
    const { hub, office } = this.#world
    const at = hub.clock.now()
    this.#apply({ type: 'time_ran_out', at: at + limits.durationMs, charge: null })
    const { context } = this.#boot
    for (let left = 5; left > 0; left--) {
      const close = this.state.pending.find(({ type }) => type === 'close_program')
      if (!close) break
      const event = { type: 'program_closed', at, effectId: close.id } as const
      this.#apply({ ...event, ...chargeOpen(context) })
    }
    const commit = this.state.pending.find(({ type }) => type === 'commit')
    if (!commit) throw new Error(`not ended: ${this.state.phase}`)
    this.usage = describeActivation(this.events, this.state.ending, at).stored.usage
    this.spent = this.state.microusd
    const done = await office.commit(this.agentId, this.id, { usage: this.usage })
    if (done.kind !== 'done') throw new Error(done.kind)
    this.#apply({ type: 'committed', at, effectId: commit.id, kind: 'done', hasMore: false })
  }
}
