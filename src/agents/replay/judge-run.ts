import type { JudgeOrder, LaneResult, ModelConnection } from '../../hub/contract/hub'
import { isWaitOver } from '../../shared/bounded-wait'
import { activationLimits, judgeLimits, scheduling } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { ActivationId } from '../../shared/ids'
import { toUsage } from '../effects/commit'
import {
  affordableOutputTokens,
  type CallPlan,
  measurePromptSize,
  toCharge,
  toFailureCharge,
  worstCaseCharge,
  worstCaseReservation,
} from '../effects/price-call'
import { outputTokensLeast } from '../effects/reserve-call'
import type { Charge } from '../loop/event'
import type { ModelAnswer, ModelFailure } from '../loop/message'
import { computeRetryMs } from '../loop/step-model'
import type { Model, ModelRegistry } from '../models/model-port'
import { cannotTell, readJudgeAnswer } from './judge-answer'
import { capJudgeOutput, composeJudgePrompt } from './judge-prompt'
import type { ReplayDeps } from './lane-deps'
import type { JudgeEnd, JudgeProgress, LaneStore } from './lane-store'
import { renewWithin, sumCost, sumTokens } from './renew-lane'

type JudgeDeps = Pick<ReplayDeps, 'agent' | 'replays' | 'readConnections' | 'startLanes'>

/**
 * Compares two answers with one call of a model. That a call is sent is stored before it is: after a crash it is charged
 * as lost, and made again when what the comparison may cost still covers it.
 */
export class JudgeRun {
  readonly #storage: Pick<DurableObjectStorage, 'setAlarm' | 'deleteAlarm'>
  readonly #store: LaneStore
  readonly #deps: JudgeDeps
  readonly #abort = new AbortController()
  #running: Promise<void> | null = null

  constructor(
    storage: Pick<DurableObjectStorage, 'setAlarm' | 'deleteAlarm'>,
    store: LaneStore,
    deps: JudgeDeps,
  ) {
    this.#storage = storage
    this.#store = store
    this.#deps = deps
  }

  /** Starts the comparison or goes on with it. Its object has an alarm, which calls this again when it fails. */
  start(order: JudgeOrder): void {
    const { log } = this.#deps.agent
    this.#running ??= this.#run(order)
      .catch((error: unknown) => log.warn('failed to compare answers', { error }))
      .finally(() => {
        this.#running = null
      })
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  /** Resolves when nothing is done for the comparison now, at the latest when an event of the platform should end. */
  async waitUntilIdle(): Promise<void> {
    await Promise.race([this.#running, scheduler.wait(scheduling.eventMs)])
  }

  /** Ends the call in flight, or the wait for the next one. */
  async cancel(): Promise<void> {
    this.#abort.abort()
    await this.#storage.setAlarm(this.#now)
  }

  async #run(order: JudgeOrder): Promise<void> {
    this.#chargeLost()
    while (!this.#store.read('isFinished')) {
      const { end, retryAt } = this.#progress
      if (end) return this.#finish(end)
      if (this.#abort.signal.aborted) {
        this.#end('cancelled', 'The comparison was cancelled.')
      } else if (order.problem !== null) {
        this.#end('failed', order.problem)
      } else if (this.#hasTimedOut) {
        this.#save({ end: timedOut })
      } else if (retryAt !== null && !isWaitOver(retryAt, this.#now, judgeLimits.durationMsMax)) {
        return this.#storage.setAlarm(retryAt)
      } else {
        await this.#call(order)
      }
    }
    await this.#storage.deleteAlarm()
  }

  get #now(): number {
    return this.#deps.agent.clock.now()
  }

  get #laneId(): ActivationId {
    const laneId = this.#store.read('laneId')
    if (!laneId) throw new Error('a comparison without a lane')
    return laneId
  }

  get #progress(): JudgeProgress {
    const stored = this.#store.read('judge')
    if (stored) return stored
    const begun: JudgeProgress = {
      endsAt: this.#now + judgeLimits.durationMsMax,
      usage: [],
      sent: null,
      failures: 0,
      retryAt: null,
      end: null,
    }
    this.#store.save('judge', begun)
    return begun
  }

  #save(change: Partial<JudgeProgress>): void {
    this.#store.save('judge', { ...this.#progress, ...change })
  }

  get #hasTimedOut(): boolean {
    return isWaitOver(this.#progress.endsAt, this.#now, judgeLimits.durationMsMax)
  }

  #end(outcome: LaneResult['outcome'], reason: string, error: LaneResult['error'] = null): void {
    this.#save({ end: { outcome, error, answer: cannotTell(reason) } })
  }

  /** Charges the call that was in flight when the machine stopped. */
  #chargeLost(): void {
    const { usage, sent } = this.#progress
    if (sent) this.#save({ usage: [...usage, sent], sent: null })
  }

  /** Calls the model once, if money is left for it, and stores what came of it. */
  async #call(order: JudgeOrder): Promise<void> {
    const plan = await this.#plan(order)
    if (!plan || !(await this.#reserve(order, plan))) return
    const { usage } = this.#progress
    const [startedAt, call] = [this.#now, usage.length + 1]
    const toEntry = (charge: Charge) =>
      toUsage(charge, { call, model: plan.model.id, at: this.#now })
    this.#save({ retryAt: null, sent: toEntry(worstCaseCharge(plan)) })
    const result = await plan.model.call(plan.request)
    const durationMs = this.#now - startedAt
    const charge = result.ok
      ? toCharge(plan, result.answer, durationMs)
      : toFailureCharge(plan, result.failure, durationMs)
    this.#save({
      sent: null,
      usage: charge ? [...usage, toEntry(charge)] : usage,
      ...(result.ok ? this.#readAnswer(result.answer) : this.#readFailure(result.failure)),
    })
  }

  /** Returns the call as it would be made with all the money that it can take; null when the model cannot be called. */
  async #plan(order: JudgeOrder): Promise<CallPlan | null> {
    const { agent, readConnections } = this.#deps
    const model = findJudge(agent.models, order.model, await readConnections())
    if (typeof model === 'string') {
      this.#end('failed', model)
      return null
    }
    const messages = composeJudgePrompt(order, model, crypto.randomUUID())
    const left = Math.max(0, this.#progress.endsAt - this.#now)
    return {
      model,
      ...measurePromptSize({ messages, tools: [] }),
      request: {
        messages,
        tools: [],
        maxOutputTokens: capJudgeOutput(model),
        cacheKey: 'judge',
        signal: AbortSignal.any([this.#abort.signal, AbortSignal.timeout(left)]),
      },
    }
  }

  /** Reserves the call and bounds its answer by what that covers. Returns false when it is not made now. */
  async #reserve({ costMaxMicrousd }: JudgeOrder, plan: CallPlan): Promise<boolean> {
    const { request, model } = plan
    const { maxOutputTokens } = request
    const answer = await renewWithin(this.#deps.replays, costMaxMicrousd, {
      laneId: this.#laneId,
      now: this.#now,
      model: model.id,
      want: worstCaseReservation(plan, maxOutputTokens),
      floor: worstCaseReservation(plan, Math.min(outputTokensLeast, maxOutputTokens)),
      usage: this.#progress.usage,
      inputs: null,
    })
    if (answer?.kind === 'renewed') {
      request.maxOutputTokens = affordableOutputTokens(plan, answer.reservation)
      return true
    }
    if (answer?.kind === 'wait') this.#save({ retryAt: answer.retryAt })
    else if (!answer) this.#end('budget_exhausted', refusals.promise)
    else if (answer.reason === 'lost') this.#store.save('isFinished', true)
    else
      this.#end(answer.reason === 'paused' ? 'failed' : 'budget_exhausted', refusals[answer.reason])
    return false
  }

  #readAnswer(answer: ModelAnswer): Partial<JudgeProgress> {
    const { finish } = answer
    if (finish === 'interrupted' || finish === 'error') return this.#readFailure(interrupted)
    return { end: { outcome: 'completed', error: null, answer: readJudgeAnswer(answer) } }
  }

  /** Returns when the call is made again, or that it is not. */
  #readFailure(failure: ModelFailure): Partial<JudgeProgress> {
    const { failures } = this.#progress
    if (this.#abort.signal.aborted) return {}
    if (failure.code === 'CANCELLED') return { end: timedOut }
    if (failure.isRetryable && failures < activationLimits.retries) {
      const wait = computeRetryMs(failure, failures, this.#deps.agent.random())
      return { failures: failures + 1, retryAt: this.#now + wait }
    }
    const { code, message } = failure
    return {
      end: {
        outcome: 'failed',
        error: { code, message },
        answer: cannotTell(`The judge could not be asked: ${message}`),
      },
    }
  }

  /** Reports the result. The hub takes it once, however often it is reported. */
  async #finish(end: JudgeEnd): Promise<void> {
    const { replays, startLanes } = this.#deps
    const { next } = await replays.finishLane(this.#laneId, this.#now, this.#composeResult(end))
    this.#store.save('isFinished', true)
    await this.#storage.deleteAlarm()
    if (next.length > 0) await startLanes(next)
  }

  #composeResult({ outcome, error, answer }: JudgeEnd): LaneResult {
    const { endsAt, usage } = this.#progress
    const reason = this.#deps.agent.mask(answer.reason)
    return {
      outcome,
      error,
      answer: JSON.stringify({ ...answer, reason }),
      steps: usage.length,
      tokens: sumTokens(usage),
      costMicrousd: sumCost(usage),
      durationMs: Math.max(0, this.#now - (endsAt - judgeLimits.durationMsMax)),
      incomplete: outcome === 'completed' ? null : reason,
      notes: [],
      calls: [],
      record: '',
      usage,
    }
  }
}

const refusals = {
  promise: 'What the comparison may cost does not cover another call.',
  paused: 'The agent is paused.',
  max_tokens: 'The comparison has used all tokens that it may.',
  budget_exhausted: 'A budget does not cover the call of the judge.',
} as const

const timedOut: JudgeEnd = {
  outcome: 'max_duration',
  error: null,
  answer: cannotTell('The judge did not answer in time.'),
}

const interrupted: ModelFailure = {
  code: 'PROVIDER_ERROR',
  message: 'Its answer was interrupted.',
  isRetryable: true,
  retryAfterMs: null,
  mayBeCharged: true,
}

/** Returns the model that compares, or why it cannot be called. */
export function findJudge(
  models: Pick<ModelRegistry, 'resolve'>,
  name: string,
  connections: readonly ModelConnection[],
): Model | string {
  try {
    const { model } = models.resolve({ override: name }, connections)
    return model.isOffline ? 'The offline model does not compare answers.' : model
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}
