import { activationLimits } from '../../config'
import type { Load, LoadAnswer, OtherActivation } from '../../hub/contract'
import type { ActivationId } from '../../ids'
import { assemblePrompt } from '../context/assemble-prompt'
import type { Definition } from '../definitions/definition'
import type { Effect } from '../loop/effect'
import type { LoadedFacts, LoopEvent } from '../loop/event'
import { readDefinition, toolCaller, type Workbench } from './workbench'

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
    mayExplore: false,
  })
  const base = { at: deps.clock.now(), effectId: effect.id }
  bench.waitReason = describeWait(answer)
  switch (answer.kind) {
    case 'loaded':
      return { ...base, type: 'loaded', facts: await gatherFacts(bench, answer) }
    case 'resumed':
    case 'nothing':
    case 'unknown_agent':
    case 'paused':
      return { ...base, type: 'load_found_nothing' }
    case 'wait':
      if (answer.reason === 'already_running' && answer.other.deadlineAt < base.at) {
        await closeOrphan(bench, answer.other)
      }
      return { ...base, type: 'load_waited', retryAt: answer.retryAt, reason: answer.reason }
  }
}

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
    admission: answer.admission,
    reservation,
    isPriced: true,
    agentName: answer.agent.name,
    definition: { version, etag },
    answer: describeAnswer(answer),
  }
  if (!found.ok) {
    const problem = { code: 'INVALID_DEFINITION', message: found.message }
    const model = { id: 'none', isOffline: false, substitutedFor: null }
    return { ...common, limits: defaultLimits, prompt: [], model, problem }
  }
  const { definition } = found
  const { model, substitutedFor } = bench.deps.models.resolve(definition.brain)
  const facts: LoadedFacts = {
    ...common,
    limits: readLimits(definition),
    prompt: [],
    model: { id: model.id, isOffline: model.isOffline, substitutedFor },
    problem: null,
    isPriced: model.prices !== null,
  }
  const tools = listTools(bench, facts)
  facts.prompt = assemblePrompt(definition, answer, tools, model.contextTokens)
  announceReading(bench, facts)
  return facts
}

const listTools = (bench: Workbench, facts: LoadedFacts): string[] =>
  bench.grants
    ? bench.deps.tools.list(toolCaller(bench, facts), bench.grants.policy).map(({ name }) => name)
    : []

const defaultLimits = {
  iterations: activationLimits.iterations,
  tokens: activationLimits.tokens,
  durationMs: activationLimits.durationSeconds * 1000,
}

const readLimits = ({ limits }: Definition) => ({
  iterations: limits.iterations,
  tokens: limits.tokens,
  durationMs: limits.durationSeconds * 1000,
})

/** The answer goes under the newest mention, to everybody who asked (L6). */
function describeAnswer({ thread, items }: Load): LoadedFacts['answer'] {
  if (!thread) return null
  return {
    postId: thread.post.id,
    parentId: items.at(-1)?.commentId ?? null,
    askers: [...new Set(items.map(({ from }) => from.name))],
  }
}

function announceReading(bench: Workbench, facts: LoadedFacts): void {
  bench.doing = 'reading the thread'
  const { activationId } = bench.now().state
  if (!facts.answer || !activationId) return
  void bench.deps.hub.announce(facts.answer.postId, {
    activationId,
    agent: { id: bench.agentId, name: facts.agentName },
    doing: bench.doing,
    since: bench.deps.clock.now(),
  })
}

/**
 * An activation of this agent that runs in the hub but of which this object knows nothing: its
 * storage was lost. After the deadline it is closed as failed and charged what it had reserved.
 */
async function closeOrphan(bench: Workbench, other: OtherActivation): Promise<void> {
  const { deps, agentId } = bench
  const now = deps.clock.now()
  await deps.hub.commit({
    agentId,
    activationId: other.activationId as ActivationId,
    now,
    outcome: 'failed',
    error: { code: 'LOST', message: 'The record of this activation was lost.' },
    reply: null,
    report: null,
    iterations: 0,
    usage: [
      {
        call: 1,
        executor: 'unknown',
        model: 'unknown',
        inputTokens: other.reservedTokens,
        cachedTokens: 0,
        outputTokens: 0,
        reasoningTokens: 0,
        costMicrousd: other.reservedMicrousd,
        isPriced: true,
        isEstimated: true,
        durationMs: 0,
        at: now,
      },
    ],
    tools: [],
    audit: [],
    trace: '{}',
    model: 'unknown',
  })
}
