import { activationLimits } from '../../config'
import { AppError } from '../../errors'
import type { Load, LoadAnswer, Resumed } from '../../hub/contract'
import type { ActivationId } from '../../ids'
import { assemblePrompt } from '../context/assemble-prompt'
import type { Definition } from '../definitions/definition'
import { executorOf } from '../executors/executors'
import type { Effect } from '../loop/effect'
import type { LoadedFacts, LoopEvent } from '../loop/event'
import { worstCostOf } from '../models/catalogue'
import type { Model } from '../models/model-port'
import { closeLost } from './close-lost'
import { describeAnswer } from './describe-answer'
import { addSizes, sizePrompt } from './price-call'
import { listTools, readDefinition, resolveModel, type Workbench } from './workbench'

/** LOAD, and from it the first prompt. */
export async function load(
  bench: Workbench,
  effect: Extract<Effect, { type: 'load' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = bench
  const { activationId } = bench.now().state
  if (!activationId) throw new Error('load without an activation')
  const answer = await deps.hub.load({
    agentId,
    activationId,
    now: deps.clock.now(),
    capacity: deps.capacity,
    mayExplore: effect.mayExplore ?? false,
    explorationFloor: deps.explorationFloor ?? 0,
  })
  const base = { at: deps.clock.now(), effectId: effect.id }
  bench.waitReason = describeWait(answer)
  switch (answer.kind) {
    case 'loaded':
      return { ...base, type: 'loaded', facts: await gatherFacts(bench, answer) }
    case 'resumed':
      return takeUp(bench, answer, base)
    case 'nothing':
    case 'unknown_agent':
    case 'paused':
      return { ...base, type: 'load_found_nothing' }
    case 'wait':
      if (answer.reason === 'already_running') {
        const { activationId: otherId, deadlineAt, ...reserved } = answer.other
        if (bench.journal.hasParked(otherId)) return resumeUnheard(bench, otherId, base)
        if (deadlineAt < base.at) {
          await closeLost(bench, otherId, {
            microusd: reserved.reservedMicrousd,
            tokens: reserved.reservedTokens,
            model: reserved.model,
          })
        }
      }
      return { ...base, type: 'load_waited', retryAt: answer.retryAt, reason: answer.reason }
  }
}

interface Base {
  at: number
  effectId: number
}

/** A parked activation goes on; one whose record is lost ends here, and there may be more to do. */
async function takeUp(bench: Workbench, answer: Resumed, base: Base): Promise<LoopEvent> {
  const { activationId, admission, decisions, isCancelled } = answer
  if (!bench.journal.hasParked(activationId)) {
    await closeLost(bench, activationId, null)
    return { ...base, type: 'load_waited', retryAt: base.at, reason: 'its_record_was_lost' }
  }
  const { policy, reservation, budgets, environment } = answer
  bench.grants = { policy, reservation, budgets, environment }
  const { nextEffectId } = bench.now().state
  const { at } = base
  return { type: 'resumed', at, activationId, admission, decisions, isCancelled, nextEffectId }
}

/**
 * The hub runs it again, but this object was killed before it heard so. What was decided is not
 * lost: the gateway knows it of every call.
 */
const resumeUnheard = (bench: Workbench, activationId: ActivationId, { at }: Base): LoopEvent => ({
  type: 'resumed',
  at,
  activationId,
  admission: 'granted',
  decisions: [],
  isCancelled: false,
  nextEffectId: bench.now().state.nextEffectId,
})

const waitReasons = {
  capacity: 'the hub runs as many agents as it may',
  money_reserved: 'the money left is reserved by agents at work',
  already_running: 'its last activation is being closed',
} as const

function describeWait(answer: LoadAnswer): string | null {
  return answer.kind === 'wait' ? waitReasons[answer.reason] : null
}

async function gatherFacts(bench: Workbench, answer: Load): Promise<LoadedFacts> {
  const { policy, reservation, budgets, environment } = answer
  bench.grants = { policy, reservation, budgets, environment }
  const { version, etag } = answer.definition
  const found = await readDefinition(bench, answer.agent.name, etag)
  const common = {
    task: answer.task,
    admission: answer.admission,
    reservation,
    isPriced: true,
    agentName: answer.agent.name,
    definition: { version, etag },
    answer: describeAnswer(answer),
  }
  if (!found.ok) {
    const problem = { code: 'INVALID_DEFINITION', message: found.message } as const
    const model = { id: 'none', isOffline: false, substitutedFor: null }
    return { ...common, ...noPrompt, limits: defaultLimits, model, problem }
  }
  const { definition } = found
  const note = executorOf(definition.executor).explainAbsence(definition.name, null)
  if (note !== null) {
    const model = { id: definition.executor, isOffline: false, substitutedFor: null }
    return { ...common, ...noPrompt, limits: defaultLimits, model, problem: null, note }
  }
  const { modelOverride } = answer
  const override = modelOverride === null ? { reservedModel: answer.model } : { modelOverride }
  const chosen = chooseModel(bench, definition, override)
  if (!chosen.ok) {
    const { problem } = chosen
    const model = { id: modelOverride ?? 'none', isOffline: false, substitutedFor: null }
    return { ...common, ...noPrompt, limits: defaultLimits, model, problem }
  }
  const { model, substitutedFor } = chosen.resolved
  const facts: LoadedFacts = {
    ...common,
    ...noPrompt,
    ...override,
    limits: readLimits(definition, model.contextTokens),
    model: { id: model.id, isOffline: model.isOffline, substitutedFor },
    problem: null,
    isPriced: model.prices !== null,
  }
  const tools = listTools(bench, facts)
  const names = tools.map(({ name }) => name)
  const { contextTokens } = model
  const { memory } = bench
  const {
    hubName,
    tools: { isGranted },
  } = bench.deps
  const sources = { definition, load: answer, toolNames: names, contextTokens, hubName, memory }
  Object.assign(facts, assemblePrompt({ ...sources, isGranted }))
  const size = sizePrompt({ messages: facts.prompt, tools: [] })
  bench.first = { messages: facts.prompt, size }
  const { promptTokens, promptTokensMax } = addSizes(size, sizePrompt({ messages: [], tools }))
  facts.promptTokens = promptTokens
  facts.firstCall = boundFirstCall(
    model,
    promptTokensMax + activationLimits.addedTokensMax,
    Math.min(model.outputTokensMax, definition.limits.outputTokens),
  )
  announceReading(bench, facts)
  return facts
}

/** What is charged when the machine dies in that call: nothing else has a note of it. */
const boundFirstCall = (model: Model, promptTokens: number, outputTokens: number) => ({
  tokens: promptTokens + outputTokens,
  microusd: worstCostOf(model.prices, promptTokens, outputTokens),
})

/** A model that was named for one run and cannot be called is a problem to tell, not a broken promise. */
function chooseModel(
  bench: Workbench,
  definition: Definition,
  override: Pick<LoadedFacts, 'modelOverride' | 'reservedModel'>,
):
  | { ok: true; resolved: ReturnType<typeof resolveModel> }
  | { ok: false; problem: NonNullable<LoadedFacts['problem']> } {
  try {
    return { ok: true, resolved: resolveModel(bench, definition, override) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ok: false, problem: { code: 'CONFIG', message: error.message } }
  }
}

const noPrompt = { prompt: [], historyFrom: 0, promptTokens: 0 }

const defaultLimits = {
  iterations: activationLimits.iterations,
  tokens: activationLimits.tokens,
  durationMs: activationLimits.durationSeconds * 1000,
  contextTokens: activationLimits.contextTokensFallback,
}

const readLimits = ({ limits }: Definition, contextTokens: number) => ({
  iterations: limits.iterations,
  tokens: limits.tokens,
  durationMs: limits.durationSeconds * 1000,
  contextTokens,
})

function announceReading(bench: Workbench, facts: LoadedFacts): void {
  bench.doing = 'reading the thread'
  const { activationId } = bench.now().state
  if (!facts.answer?.postId || !activationId) return
  void bench.deps.hub.announce(facts.answer.postId, {
    activationId,
    agent: { id: bench.agentId, name: facts.agentName },
    doing: bench.doing,
    since: bench.deps.clock.now(),
  })
}
