import {
  decidePrivacy,
  type LoadedActivation,
  type LoadResult,
  type ResumedActivation,
} from '../../hub/contract/hub'
import { activationLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { ActivationId } from '../../shared/ids'
import { assemblePrompt } from '../context/assemble-prompt'
import { findCompact } from '../context/task-layer'
import { computeDuration, type Definition } from '../definitions/definition'
import { findProgram, programs } from '../definitions/executors'
import type { LoadedFacts, LoopEvent } from '../loop/event'
import type { Effect } from '../loop/state'
import { forgetRequests } from '../memory/delete-texts'
import { findProgramSession, toAudience } from '../memory/program-sessions'
import { calculateCostMax } from '../models/catalogue'
import type { Model } from '../models/model-port'
import { toReplyTarget } from './commit'
import {
  type EffectContext,
  findRatio,
  listTools,
  readDefinition,
  refreshTools,
  resolveModel,
} from './effect-context'
import { addPromptSizes, boundPromptTokens, measurePromptSize } from './price-call'

/** Claims the work of an activation from the hub (LOAD) and composes the first prompt. */
export async function load(
  context: EffectContext,
  effect: Extract<Effect, { type: 'load' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = context
  const { activationId } = context.getActivation().state
  if (!activationId) throw new Error('load without an activation')
  const answer = await deps.hub.load({
    agentId,
    activationId,
    now: deps.clock.now(),
    capacity: deps.capacity,
    canExplore: effect.mayExplore ?? false,
    explorationFloor: deps.explorationFloor ?? 0,
  })
  const base = { at: deps.clock.now(), effectId: effect.id }
  context.waitReason = describeWait(answer)
  switch (answer.kind) {
    case 'loaded':
      await forgetChanged(context, answer)
      return { ...base, type: 'loaded', facts: await gatherFacts(context, answer) }
    case 'resumed':
      return resume(context, answer, base)
    case 'nothing':
    case 'unknown_agent':
    case 'paused':
      return { ...base, type: 'load_found_nothing' }
    case 'wait':
      if (answer.reason === 'already_running') {
        const { activationId: otherId, deadlineAt, ...reserved } = answer.other
        if (context.journal.hasParked(otherId))
          return resumeWithoutDecisions(context, otherId, base)
        if (deadlineAt < base.at) {
          await closeLostActivation(context, otherId, {
            microusd: reserved.reservedMicrousd,
            tokens: reserved.reservedTokens,
            model: reserved.model,
          })
        }
      }
      return { ...base, type: 'load_waited', retryAt: answer.retryAt, reason: answer.reason }
  }
}

/** Deletes what the agent remembers of texts that changed since it answered them, before it is in a prompt again. */
async function forgetChanged(
  { deps, memory, agentId }: EffectContext,
  { changedRequests = [] }: LoadedActivation,
): Promise<void> {
  if (changedRequests.length === 0) return
  const sessions = forgetRequests(memory, changedRequests)
  await deps.hub.dropChangedRequests(
    agentId,
    changedRequests.map(({ activationId }) => activationId),
  )
  if (sessions.length > 0) await deps.runners.forgetSessions(sessions)
}

interface Base {
  at: number
  effectId: number
}

/**
 * Resumes a parked activation. One whose journal is lost is closed as failed, and LOAD is repeated.
 */
async function resume(
  context: EffectContext,
  answer: ResumedActivation,
  base: Base,
): Promise<LoopEvent> {
  const { activationId, admission, decisions, isCancelled, definitionEtag } = answer
  if (!context.journal.hasParked(activationId)) {
    await closeLostActivation(context, activationId, null)
    return { ...base, type: 'load_waited', retryAt: base.at, reason: 'its_record_was_lost' }
  }
  const { policy, reservation, budgets, environment } = answer
  context.hubSnapshot = { policy, reservation, budgets, environment }
  context.connections = answer.connections ?? []
  const { nextEffectId } = context.getActivation().state
  const { at } = base
  return {
    type: 'resumed',
    at,
    activationId,
    admission,
    decisions,
    isCancelled,
    nextEffectId,
    ...(definitionEtag !== undefined && { definitionEtag }),
  }
}

/**
 * Resumes an activation that the hub already runs again, when this object stopped before it
 * received the decisions. They are not lost: the gateway has stored them for every call.
 */
const resumeWithoutDecisions = (
  context: EffectContext,
  activationId: ActivationId,
  { at }: Base,
): LoopEvent => ({
  type: 'resumed',
  at,
  activationId,
  admission: 'granted',
  decisions: [],
  isCancelled: false,
  nextEffectId: context.getActivation().state.nextEffectId,
})

/** Why an agent waits to start, as people read it. */
const waitReasons = {
  capacity: 'the hub runs the maximum number of agents',
  money_reserved: 'the remaining budget is reserved by running agents',
  backup: 'a backup is being written',
  already_running: 'the previous run of this agent is being closed',
} as const

function describeWait(answer: LoadResult): string | null {
  return answer.kind === 'wait' ? waitReasons[answer.reason] : null
}

/** Returns the facts of LOAD with the first prompt, or with the reason why there is none. */
async function gatherFacts(context: EffectContext, answer: LoadedActivation): Promise<LoadedFacts> {
  const { policy, reservation, budgets, environment } = answer
  context.hubSnapshot = { policy, reservation, budgets, environment }
  context.connections = answer.connections ?? []
  const { version, etag } = answer.definition
  const found = await readDefinition(context, answer.agent.name, etag)
  const common = {
    task: answer.task,
    admission: answer.admission,
    reservation,
    isPriced: true,
    agentName: answer.agent.name,
    requesters: answer.requesters.map(({ name, role }) => ({ name, role })),
    privacy: decidePrivacy({
      task: answer.task,
      requesterIds: answer.requesters.map(({ id }) => id),
      ...(answer.closed && { closed: answer.closed }),
    }),
    hasUntrusted: answer.hasUntrustedText || answer.exploration !== undefined,
    definition: { version, etag },
    answer: toReplyTarget(answer),
    ...(answer.shortage && { shortage: answer.shortage }),
    ...readTaskFacts(context),
  }
  if (!found.ok) {
    const problem = { code: 'INVALID_DEFINITION', message: found.message } as const
    const model = { id: 'none', isOffline: false, substitutedFor: null }
    return { ...common, ...noPrompt, limits: defaultLimits, model, problem }
  }
  const { definition } = found
  const { modelOverride } = answer
  const override = modelOverride === null ? { reservedModel: answer.model } : { modelOverride }
  const chosen = chooseModel(context, definition, override)
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
    limits: readLimits(definition, model),
    model: { id: model.id, isOffline: model.isOffline, substitutedFor },
    problem: null,
    isPriced: model.prices !== null,
    ...toProgramFacts(definition),
  }
  const hasPrivateSession = findSession(context, answer, facts)
  // a change since the last run is in the first prompt already
  await refreshTools(context)
  // a program lists its tools itself, and its prompt names none
  const offered = facts.program ? { tools: [], leftOut: [] } : listTools(context, facts, model)
  const { tools } = offered
  const seesImages = model.seesImages === true && !facts.program
  Object.assign(facts, composePrompt(context, answer, facts, { definition, offered, seesImages }))
  if (hasPrivateSession) facts.hasPrivate = true
  const size = measurePromptSize({ messages: facts.prompt, tools: [] })
  context.firstPrompt = { messages: facts.prompt, size }
  const whole = addPromptSizes(size, measurePromptSize({ messages: [], tools }))
  facts.promptTokens = whole.promptTokens
  facts.firstCall = boundFirstCall(
    model,
    boundPromptTokens({ ...whole, ...findRatio(context, model.id) }) +
      activationLimits.addedTokensMax,
    Math.min(model.outputTokensMax, definition.limits.outputTokens),
  )
  announceReading(context, facts)
  return facts
}

/** Returns what a replay takes of the run that it replays: for whom it acts, and where its answer would go. */
function readTaskFacts({ deps }: EffectContext): Partial<LoadedFacts> {
  const recorded = deps.replayed?.readFacts()
  if (!recorded) return {}
  const { requesters, privacy, hasUntrusted, answer } = recorded
  return {
    answer,
    ...(requesters && { requesters }),
    ...(privacy && { privacy }),
    ...(hasUntrusted !== undefined && { hasUntrusted }),
  }
}

/** Returns the program that works on the task; empty for an agent that runs natively. */
function toProgramFacts({ executor, coding }: Definition): Pick<LoadedFacts, 'program'> {
  const type = findProgram(executor)
  if (type === null) return {}
  const { takesTools } = programs[type]
  const repository = coding.workspace?.repository
  return { program: { type, takesTools, ...(repository !== undefined && { repository }) } }
}

/**
 * Adds the session in which the program goes on, if an earlier run of the thread has left one for the same readers.
 * Returns whether it has read private data.
 */
function findSession(
  { deps, memory }: EffectContext,
  { requesters }: LoadedActivation,
  { program, privacy, answer }: LoadedFacts,
): boolean {
  const thread = answer?.postId
  const audience = program && privacy && toAudience(program.type, requesters, privacy)
  if (!thread || !audience) return false
  program.audience = audience
  const found = findProgramSession(memory, { thread, audience, now: deps.clock.now() })
  if (found) program.sessionId = found.sessionId
  return found?.isPrivate === true
}

/** Returns the first prompt of an activation, with the facts that belong to it. */
const composePrompt = (
  { deps, memory }: EffectContext,
  load: LoadedActivation,
  { privacy, limits }: LoadedFacts,
  {
    definition,
    offered: { tools, leftOut },
    seesImages,
  }: {
    definition: Definition
    offered: ReturnType<typeof listTools>
    seesImages: boolean
  },
) => {
  const toolNames = tools.map(({ name }) => name)
  const recorded = deps.replayed?.readFacts()
  const assembled = assemblePrompt({
    definition,
    load,
    reader: privacy?.reader ?? null,
    toolNames,
    leftOutTools: leftOut,
    instructions: deps.tools.listInstructions(toolNames),
    contextTokens: limits.contextTokens,
    seesImages,
    hubName: deps.hubName,
    memory,
    isGranted: deps.tools.isGranted,
    ...(recorded && { recorded }),
  })
  const compact = assembled.session ? (recorded ? recorded.compact : findCompact(load)) : null
  return { ...assembled, ...(compact && { compact }) }
}

/**
 * Returns the worst case of the first model call, which is charged when the machine stops during
 * it: no other record of that call exists.
 */
const boundFirstCall = (model: Model, promptTokens: number, outputTokens: number) => ({
  tokens: promptTokens + outputTokens,
  microusd: calculateCostMax(model.prices, promptTokens, outputTokens),
})

/**
 * Returns the model to call. A model that was chosen for one run and cannot be called is a problem
 * of the run, not an exception.
 */
function chooseModel(
  context: EffectContext,
  definition: Definition,
  override: Pick<LoadedFacts, 'modelOverride' | 'reservedModel'>,
):
  | { ok: true; resolved: ReturnType<typeof resolveModel> }
  | { ok: false; problem: NonNullable<LoadedFacts['problem']> } {
  try {
    return { ok: true, resolved: resolveModel(context, definition, override) }
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

const readLimits = (definition: Definition, model: Model) => ({
  iterations: definition.limits.iterations,
  tokens: definition.limits.tokens,
  durationMs: computeDuration(definition, [model]) * 1000,
  contextTokens: model.contextTokens,
})

/** Notifies live watchers that the agent reads the thread. */
function announceReading(context: EffectContext, facts: LoadedFacts): void {
  context.doing = 'reading the thread'
  const { activationId } = context.getActivation().state
  if (!facts.answer?.postId || !activationId) return
  void context.deps.hub.publishProgress(facts.answer.postId, {
    activationId,
    agent: { id: context.agentId, name: facts.agentName },
    doing: context.doing,
    since: context.deps.clock.now(),
  })
}

/**
 * Ends an activation of this agent whose journal is lost. It fails and is charged what it had
 * reserved and not settled, to the budgets of the model that it reserved for: which models it
 * called is unknown.
 */
async function closeLostActivation(
  { deps, agentId }: EffectContext,
  activationId: ActivationId,
  reserved: { microusd: number; tokens: number; model: string } | null,
): Promise<void> {
  const now = deps.clock.now()
  await deps.hub.commit({
    agentId,
    activationId,
    now,
    outcome: 'failed',
    hasReadUntrusted: true,
    error: { code: 'LOST', message: 'The record of this activation was lost.' },
    reply: null,
    report: null,
    iterations: 0,
    usage: reserved
      ? [
          {
            // 0 is not used by real calls, which may have been settled when the activation parked
            call: 0,
            model: reserved.model,
            inputTokens: reserved.tokens,
            cachedTokens: 0,
            outputTokens: 0,
            reasoningTokens: 0,
            costMicrousd: reserved.microusd,
            isPriced: true,
            isEstimated: true,
            durationMs: 0,
            at: now,
          },
        ]
      : [],
    tools: [],
    audit: [],
    trace: '{}',
    model: reserved?.model ?? 'unknown',
  })
}
