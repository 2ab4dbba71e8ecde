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

/** The current activation. */
export interface Now {
  state: LoopState
  events: LoopEvent[]
}

/** Policy, money and budgets as last returned by the hub; read again before every further call. */
export interface Grants {
  policy: GrantPolicy
  reservation: Reservation
  budgets: BudgetStatus[]
  environment: Environment
}

/**
 * What the effects of one agent share: dependencies, and cached facts that can be lost in a crash.
 */
export interface Workbench {
  deps: AgentDeps
  journal: Journal
  memory: MemoryStore
  /** Live watchers of the agent. */
  stream: ActivationStream
  now(): Now
  agentId: AccountId
  definition: { etag: string; definition: Definition } | null
  grants: Grants | null
  /** The current action, as text for live watchers. */
  doing: string | null
  waitReason: string | null
  /** The model call in flight, or the last one. */
  sent: SentCall | null
  /** The size of the agent's storage at an earlier time; null until first read. */
  storage: { at: number; bytes: number } | null
  /** The first prompt and its size, without tools: every later prompt starts with it. */
  first: { messages: Message[]; size: PromptSize } | null
  /** The parts of the last prompt. */
  prompt: { activationId: ActivationId | null; parts: string[] } | null
}

/** Returns the facts of LOAD from the journal; null before LOAD. */
export function loadedFacts(events: LoopEvent[]): LoadedFacts | null {
  for (const event of events) if (event.type === 'loaded') return event.facts
  return null
}

/** Returns an admitted call of this activation by its id; null when there is none. */
export function findCall(events: LoopEvent[], callId: string): AdmittedCall | null {
  const register = new CallRegister()
  for (const event of events) {
    if (event.type !== 'model_answered') continue
    const found = register.admit(event.answer).find((call) => call.callId === callId)
    if (found) return found
  }
  return null
}

/**
 * Returns the agent as the gateway sees it. Read the definition before listing or calling tools.
 */
export function toolCaller(context: Workbench, facts: LoadedFacts): ToolCaller {
  const narrowing = context.definition?.definition.narrowing
  return {
    accountId: context.agentId,
    name: facts.agentName,
    kind: 'agent',
    activationId: context.now().state.activationId,
    postId: facts.answer?.postId ?? null,
    ...(narrowing ? { narrowing } : {}),
  }
}

/** Notifies live watchers of the current action; may get lost. */
export function announce(context: Workbench, doing: string | null): void {
  context.doing = doing
  const { state, events } = context.now()
  if (state.activationId) context.stream.tellDoing(state.activationId, doing)
  const facts = loadedFacts(events)
  if (!facts?.answer?.postId || !state.activationId) return
  void context.deps.hub.announce(facts.answer.postId, {
    activationId: state.activationId,
    agent: { id: context.agentId, name: facts.agentName },
    doing,
    since: state.startedAt,
  })
}

/** Returns the definition of this activation, from memory or from the store. */
export async function readDefinition(
  context: Workbench,
  name: string,
  etag: string,
): Promise<{ ok: true; definition: Definition } | { ok: false; message: string }> {
  if (context.definition?.etag === etag)
    return { ok: true, definition: context.definition.definition }
  const found = await context.deps.definitions.read(name, etag)
  if (found.ok) context.definition = { etag, definition: found.definition }
  return found
}

/** Returns the failure for an invalid definition. A retry cannot help, and no call was made. */
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

/** Returns the model that money is reserved for, or the one that was chosen for this run. */
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

/**
 * Reloads the tools that were added or removed since the last call; undefined when there is nothing
 * to wait for.
 */
export const refreshTools = ({ grants, deps }: Workbench): Promise<void> | undefined =>
  grants ? deps.tools.refresh(grants.policy) : undefined

/** Returns the tools that the agent can use now. */
export const listTools = (context: Workbench, facts: LoadedFacts) =>
  context.grants ? context.deps.tools.list(toolCaller(context, facts), context.grants.policy) : []

/** Returns the input of hooks. */
export function hookContext(context: Workbench, facts: LoadedFacts): HookContext {
  const { state } = context.now()
  if (!state.activationId) throw new Error('hook without an activation')
  return {
    agent: { id: context.agentId, name: facts.agentName },
    activationId: state.activationId,
    step: state.iteration,
    postId: facts.answer?.postId ?? null,
    model: facts.model.id,
    budgets: context.grants?.budgets ?? [],
    now: context.deps.clock.now(),
  }
}
