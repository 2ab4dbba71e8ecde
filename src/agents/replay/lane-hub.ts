import type {
  ActivationApi,
  CommitRequest,
  LaneResult,
  LoadRequest,
  LoadResult,
  ModelConnection,
  ParkRequest,
  RenewRequest,
  RenewResult,
  ReplayApi,
  SteeringItem,
  Usage,
} from '../../hub/contract/hub'
import type { AccountId, ActivationId, Clock } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import { collectUsage } from '../effects/commit'
import { findLoadedFacts } from '../effects/effect-context'
import type { LoopEvent } from '../loop/event'
import type { Model, ModelRegistry } from '../models/model-port'
import { toRunLog } from '../run/run-log'
import { type Lane, type OpenedLane, runsAsThen } from './lane'
import { listLaneCalls } from './lane-calls'
import type { LaneDecision, LaneStore } from './lane-store'
import { readAnswer } from './read-record'
import { countAnswers, countModelCalls, findDecision, findFirstTools } from './recorded-run'
import { renewWithin, sumCost, sumTokens } from './renew-lane'

interface LaneHubDeps {
  lane: Lane
  store: LaneStore
  replays: Pick<ReplayApi, 'renewLane' | 'finishLane'>
  models: Pick<ModelRegistry, 'resolve'>
  readConnections(): Promise<ModelConnection[]>
  /** Names of hooks that the definition of the lane would run and the lane does not. */
  listSkippedHooks(): string[]
  /** Lets the run ask for comments before it ends. */
  hintSteering(): void
  /** Starts other lanes. A hint: the hub's sweep starts those that are lost. */
  startLanes(laneIds: ActivationId[]): Promise<void>
  clock: Clock
}

/** A lane runs alone, as far as its model knows. */
const alone = { inboxDepth: 0, runningActivations: 1 }

/** Nothing: a lane reserves with its first renewal. */
const unreserved = { microusd: 0, tokens: 0 }

/**
 * What a lane has in place of the hub: it gets what the hub gave to the recorded run, its money from the budget of
 * replays, and its end is a result that only readers of the replay see.
 */
export class LaneHub implements ActivationApi {
  readonly #deps: LaneHubDeps

  constructor(deps: LaneHubDeps) {
    this.#deps = deps
  }

  async load({ activationId, now }: LoadRequest): Promise<LoadResult> {
    const { lane, store } = this.#deps
    if (store.read('isFinished')) return { kind: 'nothing' }
    const opened = await lane.open()
    if (!opened) return { kind: 'nothing' }
    const { problem } = opened.order
    if (problem !== null && countModelCalls(lane.events) === 0) {
      await this.#finish(now, toUnstarted(problem))
      return { kind: 'nothing' }
    }
    const parked = store.read('parked')
    const connections = await this.#deps.readConnections()
    const common = {
      policy: lane.policy,
      reservation: unreserved,
      budgets: [],
      environment: alone,
      connections,
      deadlineAt: Number.MAX_SAFE_INTEGER,
    }
    if (parked && parked.activationId !== activationId) {
      return { kind: 'resumed', ...parked, ...common }
    }
    const { order, run } = opened
    const { facts } = run
    return {
      kind: 'loaded',
      agent: order.agent,
      definition: toDefinitionFacts(opened),
      task: facts.task,
      admission: facts.admission,
      ...(facts.shortage && { shortage: facts.shortage }),
      items: [],
      requesters: [],
      hasUntrustedText: facts.hasUntrusted !== false,
      thread: null,
      ...this.#chooseModel(opened, connections),
      ...common,
    }
  }

  /** The run's own definition gets the model that the run had; a draft gets its first. */
  #chooseModel({ order, run, definition }: OpenedLane, connections: ModelConnection[]) {
    const { modelOverride = null, reservedModel, model } = run.facts
    if (runsAsThen(order)) return { modelOverride, model: reservedModel ?? model.id }
    const chosen: Pick<Model, 'id'> = definition.ok
      ? this.#deps.models.resolve(definition.definition.brain, connections).model
      : model
    return { modelOverride: null, model: chosen.id }
  }

  async renew({ now, want, floor }: RenewRequest): Promise<RenewResult> {
    const { lane, store, replays } = this.#deps
    const laneId = store.read('laneId')
    const opened = await lane.open()
    if (!opened || !laneId) return { kind: 'refused', reason: 'lost' }
    if (opened.order.problem !== null) {
      store.addProblem(opened.order.problem)
      return { kind: 'refused', reason: 'lost' }
    }
    const usage = this.#listUsage()
    const model = findLoadedFacts(lane.events)?.model.id ?? 'none'
    const inputs = await hashInputs(opened, lane)
    const request = { laneId, now, model, want, floor, usage, inputs }
    const answer = await renewWithin(replays, opened.order.costMaxMicrousd, request)
    if (!answer) {
      store.addProblem('It reached the most that it may cost.')
      return { kind: 'refused', reason: 'budget_exhausted' }
    }
    if (answer.kind !== 'renewed') return answer
    return {
      kind: 'renewed',
      reservation: answer.reservation,
      policy: lane.policy,
      budgets: [],
      environment: alone,
      ...(answer.connections && { connections: answer.connections }),
      steering: this.#joinDue(),
    }
  }

  /**
   * Returns all comments that joined the recorded run up to this place. When more are to come, the run asks again
   * before it ends.
   */
  #joinDue(): SteeringItem[] {
    const { lane } = this.#deps
    const answers = countAnswers(lane.events)
    const { joins } = lane.opened.run
    if (joins.some((join) => join.answers > answers)) this.#deps.hintSteering()
    return joins.filter((join) => join.answers <= answers).flatMap(({ items }) => items)
  }

  /** Returns what joined the recorded run up to this place, or, as the lane is about to end, whatever came later. */
  async steer(): Promise<SteeringItem[]> {
    const { lane } = this.#deps
    if (!(await lane.open())) return []
    const answers = countAnswers(lane.events)
    const { joins } = lane.opened.run
    const isDue = joins.some((join) => join.answers === answers)
    return isDue ? this.#joinDue() : joins.flatMap(({ items }) => items)
  }

  /** Parks the run if the recorded one went on from there; otherwise the lane ends. */
  async park({ activationId, approvals, outage }: ParkRequest) {
    const { lane, store } = this.#deps
    const opened = await lane.open()
    if (!opened) return { kind: 'lost' as const, waiting: [] }
    const parked = outage
      ? this.#findEndOfOutage(activationId)
      : this.#findDecisions(activationId, approvals)
    if (!parked) return { kind: 'lost' as const, waiting: [] }
    store.save('parked', parked)
    return { kind: 'parked' as const, waiting: [opened.order.agent.id] }
  }

  #findDecisions(
    activationId: ActivationId,
    approvals: ParkRequest['approvals'],
  ): LaneDecision | null {
    const { lane, store } = this.#deps
    const found = approvals.map((asked) => {
      const parks = lane.events.filter(
        (event) => event.type === 'tool_parked' && event.callId === asked.callId,
      )
      const recorded = lane.findRecorded(asked.callId, asked.arguments)?.call
      return { asked, recorded: recorded?.approvals[parks.length - 1] }
    })
    const decidedBy = found.map(({ recorded }) => recorded?.decidedBy)
    const [first] = decidedBy
    if (!first || decidedBy.some((each) => !each)) {
      store.addProblem('A call required an approval that was not decided in the run.')
      return null
    }
    const decisions = found.flatMap(({ asked, recorded }) => {
      const decision = recorded && findDecision(recorded)
      return decision ? [{ ...decision, callId: asked.callId }] : []
    })
    const { admission, isCancelled } = first
    return { activationId, admission, isCancelled, decisions }
  }

  /** Returns how the recorded run went on when its provider was back. It is not waited for: the outage is over. */
  #findEndOfOutage(activationId: ActivationId): LaneDecision | null {
    const { lane, store } = this.#deps
    const isOutage = ({ type }: { type: string }) => type === 'parked' || type === 'resumed'
    const parks = lane.events.filter(({ type }) => type === 'parked').length
    const [, ended] = lane.opened.run.events.filter(isOutage).slice(2 * parks)
    if (ended?.type !== 'resumed' || ended.decisions.length > 0) {
      store.addProblem('The model provider could not be reached.')
      return null
    }
    const { admission, isCancelled } = ended
    return { activationId, admission, isCancelled, decisions: [] }
  }

  async commit(request: CommitRequest) {
    if (!this.#deps.store.read('isFinished')) {
      await this.#finish(request.now, await this.#composeResult(request))
    }
    return { kind: 'done' as const, replyId: null, replyRefusal: null, waiting: [] }
  }

  async #finish(now: number, result: LaneResult): Promise<void> {
    const { store, replays, startLanes } = this.#deps
    const laneId = store.read('laneId')
    if (!laneId) return
    const { next } = await replays.finishLane(laneId, now, result)
    store.save('isFinished', true)
    if (next.length > 0) await startLanes(next)
  }

  async #composeResult(request: CommitRequest): Promise<LaneResult> {
    const { lane, store } = this.#deps
    const opened = await lane.open()
    const { usage, now } = request
    const calls = listLaneCalls(lane.events, store.readCalls())
    const begun = lane.events.find(({ type }) => type === 'loaded')?.at ?? now
    // its record would keep what is gone
    const isGone = opened !== null && opened.order.problem !== null
    return {
      outcome: isGone ? 'failed' : request.outcome,
      error: request.error,
      answer: readAnswer(request.trace),
      steps: request.iterations,
      tokens: sumTokens(usage),
      costMicrousd: sumCost(usage),
      durationMs: Math.max(0, now - begun),
      incomplete: describeProblems(store.read('problems') ?? [], calls),
      notes: opened ? this.#listNotes(opened) : [],
      calls,
      record: isGone ? '' : request.trace,
      usage,
    }
  }

  #listNotes({ order, run }: OpenedLane): string[] {
    const { lane, listSkippedHooks } = this.#deps
    const skipped = listSkippedHooks()
    return [
      ...(skipped.length === 0
        ? []
        : [`These hooks did not run, as they may act outside of the run: ${skipped.join(', ')}.`]),
      ...(runsAsThen(order) ? describeTools(run.events, lane.events) : []),
    ]
  }

  #listUsage(): Usage[] {
    const { events } = this.#deps.lane
    return collectUsage(toRunLog(events, null), findLoadedFacts(events)?.model.id ?? 'none')
  }

  readConnections(): Promise<ModelConnection[]> {
    return this.#deps.readConnections()
  }

  /** Nobody outside of the lane learns of it. */
  async notifyRequesters(): Promise<void> {}
  async publishProgress(): Promise<void> {}
  async dropChangedRequests(): Promise<void> {}
  async endOutage(): Promise<AccountId[]> {
    return []
  }
}

/** Returns the result of a lane that cannot run. */
const toUnstarted = (problem: string): LaneResult => ({
  outcome: 'failed',
  error: null,
  answer: '',
  incomplete: problem,
  steps: 0,
  tokens: 0,
  costMicrousd: 0,
  durationMs: 0,
  notes: [],
  calls: [],
  record: '',
  usage: [],
})

/** Returns how the tools that a run was offered have changed since, as sentences. */
function describeTools(recorded: LoopEvent[], own: LoopEvent[]): string[] {
  const [then, now] = [findFirstTools(recorded), findFirstTools(own)]
  const gone = then?.tools?.filter((name) => !now?.tools?.includes(name)) ?? []
  if (!now) return []
  if (gone.length > 0) return [`These tools do not exist any more: ${gone.join(', ')}.`]
  return then?.toolsHash === now.toolsHash
    ? []
    : ['The descriptions or arguments of its tools have changed since the run.']
}

/**
 * Returns a hash of all that decides what a baseline does, apart from chance: the first prompt, model, definition, tools and
 * rights. Null for a draft, which nobody asks for again.
 */
async function hashInputs(
  { order }: OpenedLane,
  { events, policy }: Pick<Lane, 'events' | 'policy'>,
): Promise<string | null> {
  const facts = findLoadedFacts(events)
  if (order.lane !== 'baseline' || !facts) return null
  const { prompt, promptTokens, model, limits, definition } = facts
  const { by, unreadable, isAsThen } = order
  const ofLane = { prompt, promptTokens, model, limits, definition }
  return sha256(JSON.stringify([by.id, isAsThen, unreadable, policy, ofLane]))
}

/** A draft is no version. */
const toDefinitionFacts = ({ order }: OpenedLane) => {
  const { definition } = order.observed
  return order.draft === null ? definition : { version: definition.version, etag: 'draft' }
}

/** Returns why a lane does not show what would have happened; null when it does. */
function describeProblems(problems: string[], calls: LaneResult['calls']): string | null {
  const missing = new Set(calls.flatMap(({ source, tool }) => (source === 'none' ? [tool] : [])))
  const all =
    missing.size === 0
      ? problems
      : [...problems, `No answer is recorded for calls of ${[...missing].join(', ')}.`]
  return all.length === 0 ? null : all.join(' ')
}
