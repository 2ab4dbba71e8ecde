import type { BudgetStatus, Environment, GrantPolicy, Reservation } from '../../hub/contract'
import type { AccountId, ActivationId } from '../../ids'
import type { ToolCaller } from '../../mcp-servers/contract'
import type { AgentDeps } from '../agent-deps'
import type { Definition } from '../definitions/definition'
import type { HookContext } from '../hooks/hook'
import type { ActivationStream } from '../live/activation-stream'
import { type AdmittedCall, CallRegister } from '../loop/admit-calls'
import type { LoadedFacts, LoopEvent, LoopEventOf } from '../loop/event'
import type { Message } from '../loop/message'
import type { LoopState } from '../loop/state'
import type { Journal, SentCall } from '../storage/journal'
import type { MemoryStore } from '../storage/memory-store'
import type { PromptSize } from './price-call'

export interface Now {
  state: LoopState
  events: LoopEvent[]
}

/** What the hub last told about money and rights; read again before every further call. */
export interface Grants {
  policy: GrantPolicy
  reservation: Reservation
  budgets: BudgetStatus[]
  environment: Environment
}

/** What the effects of one agent share. Only facts; nothing here is needed after a crash. */
export interface Workbench {
  deps: AgentDeps
  journal: Journal
  memory: MemoryStore
  /** Those who watch. */
  stream: ActivationStream
  now(): Now
  agentId: AccountId
  definition: { etag: string; definition: Definition } | null
  grants: Grants | null
  /** In words, for people who watch. */
  doing: string | null
  waitReason: string | null
  /** The model call under way, or the last one. */
  sent: SentCall | null
  /** How much it stores, as of a while ago; null until somebody asks. */
  storage: { at: number; bytes: number } | null
  /** How long the first prompt is, without tools: every further one begins with it. */
  first: { messages: Message[]; size: PromptSize } | null
  /** What the last model call was shown. */
  prompt: { activationId: ActivationId | null; parts: string[] } | null
}

/** What LOAD found out, from the journal. */
export function loadedFacts(events: LoopEvent[]): LoadedFacts | null {
  for (const event of events) if (event.type === 'loaded') return event.facts
  return null
}

/** A call of this activation by its id, as `step` admitted it. */
export function findCall(events: LoopEvent[], callId: string): AdmittedCall | null {
  const register = new CallRegister()
  for (const event of events) {
    if (event.type !== 'model_answered') continue
    const found = register.admit(event.answer).find((call) => call.callId === callId)
    if (found) return found
  }
  return null
}

/** The agent as the gateway sees it. The definition is read before any tool is listed or called. */
export function toolCaller(bench: Workbench, facts: LoadedFacts): ToolCaller {
  const narrowing = bench.definition?.definition.narrowing
  return {
    accountId: bench.agentId,
    name: facts.agentName,
    kind: 'agent',
    activationId: bench.now().state.activationId,
    postId: facts.answer?.postId ?? null,
    ...(narrowing ? { narrowing } : {}),
  }
}

/** Tells live watchers; a hint that may be lost. */
export function announce(bench: Workbench, doing: string | null): void {
  bench.doing = doing
  const { state, events } = bench.now()
  if (state.activationId) bench.stream.tellDoing(state.activationId, doing)
  const facts = loadedFacts(events)
  if (!facts?.answer?.postId || !state.activationId) return
  void bench.deps.hub.announce(facts.answer.postId, {
    activationId: state.activationId,
    agent: { id: bench.agentId, name: facts.agentName },
    doing,
    since: state.startedAt,
  })
}

/** The definition that this activation runs with; from memory, then from where it is kept. */
export async function readDefinition(
  bench: Workbench,
  name: string,
  etag: string,
): Promise<{ ok: true; definition: Definition } | { ok: false; message: string }> {
  if (bench.definition?.etag === etag) return { ok: true, definition: bench.definition.definition }
  const found = await bench.deps.definitions.read(name, etag)
  if (found.ok) bench.definition = { etag, definition: found.definition }
  return found
}

/** What LOAD would say of it (L15); asking again helps nobody, and no call was made. */
export const failOfDefinition = (
  { deps }: Workbench,
  effectId: number,
  message: string,
): LoopEventOf<'model_failed'> => {
  const at = deps.clock.now()
  const failure = {
    code: 'INVALID_DEFINITION',
    message,
    isRetryable: false,
    retryAfterMs: null,
    mayBeCharged: false,
  } as const
  return { type: 'model_failed', at, effectId, startedAt: at, failure, charge: null, jitter: 0 }
}

type ModelFacts = Pick<LoadedFacts, 'modelOverride' | 'reservedModel'>

/** The definition's model that money is reserved for, or the one that this run was told to use. */
export const resolveModel = (
  { deps }: Workbench,
  { brain }: Definition,
  { modelOverride: override, reservedModel: reserved }: ModelFacts,
) =>
  deps.models.resolve({
    ...brain,
    ...(override !== undefined && { override }),
    ...(reserved !== undefined && { reserved }),
  })

/** Knows of tools that came and went since it looked; nothing to wait for when none did. */
export const refreshTools = ({ grants, deps }: Workbench): Promise<void> | undefined =>
  grants ? deps.tools.refresh(grants.policy) : undefined

/** The tools it may use now. */
export const listTools = (bench: Workbench, facts: LoadedFacts) =>
  bench.grants ? bench.deps.tools.list(toolCaller(bench, facts), bench.grants.policy) : []

/** How things stand, for hooks. */
export function hookContext(bench: Workbench, facts: LoadedFacts): HookContext {
  const { state } = bench.now()
  if (!state.activationId) throw new Error('a hook without an activation')
  return {
    agent: { id: bench.agentId, name: facts.agentName },
    activationId: state.activationId,
    step: state.iteration,
    postId: facts.answer?.postId ?? null,
    model: facts.model.id,
    budgets: bench.grants?.budgets ?? [],
    now: bench.deps.clock.now(),
  }
}
