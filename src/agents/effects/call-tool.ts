import type { ApprovalRequest, AuditEntry } from '../../hub/contract/hub'
import { chooseSkills } from '../context/skills-layer'
import type { HookContext } from '../hooks/hook'
import type { AgentHooks, GuardDecision, HookResult } from '../hooks/hook-runner'
import type { AdmittedCall } from '../loop/admit-calls'
import type { LoadedFacts, LoopEvent, LoopEventOf } from '../loop/event'
import type { Effect } from '../loop/state'
import { findApproval } from './commit'
import {
  type EffectContext,
  findCall,
  findLoadedFacts,
  notifyWatchers,
  readDefinition,
  toHookContext,
  toToolCaller,
} from './effect-context'

/**
 * Makes one tool call: runs the guard hooks, the gateway, then the hooks that see the result. The
 * gateway never throws. Null when the effect was cancelled meanwhile.
 */
export async function callTool(
  context: EffectContext,
  effect: Extract<Effect, { type: 'call_tool' }>,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const { deps } = context
  const { events } = context.getActivation()
  const call = findCall(events, effect.callId)
  const facts = findLoadedFacts(events)
  if (!call || !facts) throw new Error('tool call without a request of the model')
  // after a crash the definition is not in memory yet, and it restricts the tools
  const found = await readDefinition(context, facts.agentName, facts.definition.etag)
  const startedAt = deps.clock.now()
  // the next model call ends the activation for this reason
  if (!found.ok) return failCall(call, effect.id, startedAt, found.message)
  const doing = deps.tools.describe(call.name)?.doing ?? 'using a tool'
  notifyWatchers(context, doing)
  const { activationId } = context.getActivation().state
  const publish = (text?: string) => context.stream.publishProgress(call, doing, activationId, text)
  publish()
  const hooks = deps.hooks.forAgent(found.definition.hooks)
  const hookInput = toHookContext(context, facts)
  const { callId, name } = call
  const guarded = await runGuards(hooks, call, findApproval(events, callId), hookInput)
  const timings = [...guarded.timings]
  const result = await runCall(context, facts, call, guarded.value, { signal, publish })
  if (signal.aborted) return null
  const { approval, durationMs, audit } = result
  const base = { effectId: effect.id, callId, name, startedAt, audit }
  if (approval) {
    const hooked = timings.length > 0 ? { hooks: timings } : {}
    return { ...base, at: deps.clock.now(), type: 'tool_parked', approval, ...hooked }
  }
  const { text, isError } = result
  const shown = await hooks.afterToolCall({ callId, tool: name, text, isError }, hookInput)
  if (signal.aborted) return null
  timings.push(...shown.timings)
  return {
    ...base,
    at: deps.clock.now(),
    type: 'tool_returned',
    text: shown.value.text,
    isError: shown.value.isError,
    durationMs,
    resultBytes: result.resultBytes,
    ...toMarks(result),
    ...(timings.length > 0 && { hooks: timings }),
    ...changedArguments(call, guarded.value),
  }
}

/** Returns what later runs have to know about the text of a result. */
const toMarks = ({
  isUntrusted,
  isPrivate,
  isOwnAccount,
  isExcerpt,
  reads,
}: CallResult): Marks => ({
  ...(isUntrusted && { isUntrusted }),
  ...(isPrivate && { isPrivate }),
  ...(isOwnAccount && { isOwnAccount }),
  ...(isExcerpt && { isExcerpt }),
  ...(reads && { reads }),
})

/** Returns the arguments when a hook changed them: the journal is their only record. */
const changedArguments = ({ arguments: asked }: AdmittedCall, decision: GuardDecision) =>
  decision.kind === 'allowed' && decision.arguments !== asked
    ? { arguments: decision.arguments }
    : {}

/** Returns the error result of a call that failed before or outside the gateway. */
export const failCall = (
  { callId, name }: Pick<AdmittedCall, 'callId' | 'name'>,
  effectId: number,
  at: number,
  message: string,
): LoopEvent => ({
  type: 'tool_returned',
  at,
  effectId,
  callId,
  name,
  text: `Error: ${message}`,
  isError: true,
  startedAt: at,
  durationMs: 0,
  resultBytes: 0,
  audit: null,
})

/**
 * Runs the guard hooks. An approved call skips them, so that it runs exactly as it was approved.
 */
const runGuards = async (
  hooks: AgentHooks,
  { callId, name, arguments: args }: AdmittedCall,
  approved: ApprovalRequest | null,
  context: HookContext,
): Promise<HookResult<GuardDecision>> =>
  approved
    ? { value: { kind: 'allowed', arguments: approved.arguments }, timings: [] }
    : hooks.beforeToolCall({ callId, tool: name, arguments: args }, context)

type Marks = Pick<
  LoopEventOf<'tool_returned'>,
  'isUntrusted' | 'isPrivate' | 'isOwnAccount' | 'isExcerpt' | 'reads'
>

interface CallResult extends Marks {
  text: string
  isError: boolean
  approval: ApprovalRequest | null
  durationMs: number
  resultBytes: number
  audit: AuditEntry | null
}

async function runCall(
  context: EffectContext,
  facts: LoadedFacts,
  call: AdmittedCall,
  decision: GuardDecision,
  { signal, publish }: { signal: AbortSignal; publish(text: string): void },
): Promise<CallResult> {
  if (decision.kind === 'denied') {
    const text = `Error: denied by ${decision.hook}: ${decision.reason}`
    return { text, isError: true, approval: null, durationMs: 0, resultBytes: 0, audit: null }
  }
  const result = await context.deps.tools.call(
    toToolCaller(context, facts),
    { callId: call.callId, tool: call.name, arguments: decision.arguments },
    signal,
    publish,
  )
  const { audit, text } = result
  const resultBytes = audit.resultBytes ?? text.length
  return { ...result, resultBytes }
}

/** Returns the text of a skill that the agent can use in its current task; null for any other. */
export async function readSkill(context: EffectContext, name: string): Promise<string | null> {
  const facts = findLoadedFacts(context.getActivation().events)
  if (!facts) return null
  const found = await readDefinition(context, facts.agentName, facts.definition.etag)
  if (!found.ok) return null
  // After a crash the policy is not in memory yet; the tools that the skill mentions still need
  // their own grants.
  const policy = context.hubSnapshot?.policy
  const { skills } = policy
    ? chooseSkills(found.definition, policy, context.deps.tools.isGranted)
    : found.definition
  const wanted = name.toLowerCase()
  return skills.find((skill) => skill.name.toLowerCase() === wanted)?.body ?? null
}
