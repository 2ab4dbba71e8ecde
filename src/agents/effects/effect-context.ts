import type {
  BudgetStatus,
  Environment,
  GrantPolicy,
  ModelConnection,
  Reservation,
} from '../../hub/contract/hub'
import type { FileUse, ToolCaller } from '../../mcp-servers/contract/tools'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { AgentDeps } from '../agent-deps'
import type { Definition } from '../definitions/definition'
import type { HookContext } from '../hooks/hook'
import type { Journal, SentCall } from '../journal'
import type { ActivationStream, LiveCall } from '../live/activation-stream'
import { type AdmittedCall, CallRegister } from '../loop/admit-calls'
import type { Charge, LoadedFacts, LoopEvent } from '../loop/event'
import { hasReadUntrusted } from '../loop/has-read-untrusted'
import type { Message } from '../loop/message'
import { findPrivacy } from '../loop/own-account'
import type { LoopState } from '../loop/state'
import type { MemoryStore } from '../memory/memory-store'
import type { Model } from '../models/model-port'
import type { TokenRatio } from '../models/token-ratio'
import type { PromptSize } from './price-call'

/** The current activation. */
export interface ActivationSnapshot {
  state: LoopState
  events: LoopEvent[]
}

/** Policy, money and budgets as last returned by the hub; read again before every further call. */
export interface HubSnapshot {
  policy: GrantPolicy
  reservation: Reservation
  budgets: BudgetStatus[]
  environment: Environment
}

/**
 * What the effects of one agent share: dependencies, and cached facts that can be lost in a crash.
 */
export interface EffectContext {
  deps: AgentDeps
  journal: Journal
  memory: MemoryStore
  /** Live watchers of the agent. */
  stream: ActivationStream
  getActivation(): ActivationSnapshot
  agentId: AccountId
  definition: { etag: string; definition: Definition } | null
  hubSnapshot: HubSnapshot | null
  /** The model providers that admins set up; null until they are read. Never stored. */
  connections: ModelConnection[] | null
  /** The current action, as text for live watchers. */
  doing: string | null
  waitReason: string | null
  /** The model call in flight, or the last one. */
  sentCall: SentCall | null
  /** Measures that call while it is in flight: what it is charged if it is stopped now. */
  inFlight: { effectId: number; measure(): Charge } | null
  /** What models have counted for this agent's prompts, as stored; null until first read. */
  ratios: Record<string, TokenRatio> | null
  /** The size of the agent's storage at an earlier time; null until first read. */
  storageSize: { at: number; bytes: number } | null
  /** What the agent's files took up at an earlier time; null until first read. */
  fileUse: { at: number; activationId: ActivationId | null; use: FileUse | null } | null
  /** The first prompt and its size, without tools: every later prompt starts with it. */
  firstPrompt: { messages: Message[]; size: PromptSize } | null
  /** The tools of the last model call. */
  lastTools: { activationId: ActivationId | null; names: string[] } | null
  /** The text that a program writes, for live watchers. */
  programText: LiveCall | null
  /** The parts of the last prompt. */
  lastPrompt: { activationId: ActivationId | null; parts: string[] } | null
}

/** Returns the facts of LOAD from the journal; null before LOAD. */
export function findLoadedFacts(events: LoopEvent[]): LoadedFacts | null {
  for (const event of events) if (event.type === 'loaded') return event.facts
  return null
}

/** Returns an admitted call of this activation by its id; null when there is none. */
export function findCall(events: LoopEvent[], callId: string): AdmittedCall | null {
  const register = new CallRegister(events)
  for (const event of events) {
    if (event.type === 'program_called' && event.callId === callId) {
      return { callId, name: event.name, arguments: event.arguments, refusal: null }
    }
    if (event.type !== 'model_answered') continue
    const found = register.admit(event.answer).find((call) => call.callId === callId)
    if (found) return found
  }
  return null
}

/**
 * Returns the agent as the gateway sees it. Read the definition before listing or calling tools.
 */
export function toToolCaller(context: EffectContext, facts: LoadedFacts): ToolCaller {
  const toolRestrictions = context.definition?.definition.toolRestrictions
  const { events } = context.getActivation()
  const privacy = findPrivacy(facts, events)
  return {
    accountId: context.agentId,
    name: facts.agentName,
    kind: 'agent',
    activationId: context.getActivation().state.activationId,
    postId: facts.answer?.postId ?? null,
    ...(toolRestrictions ? { toolRestrictions } : {}),
    hasReadUntrusted: hasReadUntrusted(facts, events),
    isExploration: facts.task === 'exploration',
    ...(privacy && { privacy }),
  }
}

/** Notifies live watchers of the current action; may get lost. */
export function notifyWatchers(context: EffectContext, doing: string | null): void {
  context.doing = doing
  const { state, events } = context.getActivation()
  if (state.activationId) context.stream.publishDoing(state.activationId, doing)
  const facts = findLoadedFacts(events)
  if (!facts?.answer?.postId || !state.activationId) return
  void context.deps.hub.publishProgress(facts.answer.postId, {
    activationId: state.activationId,
    agent: { id: context.agentId, name: facts.agentName },
    doing,
    since: state.startedAt,
  })
}

/** Returns the definition of this activation, from memory or from the store. */
export async function readDefinition(
  context: EffectContext,
  name: string,
  etag: string,
): Promise<{ ok: true; definition: Definition } | { ok: false; message: string }> {
  if (context.definition?.etag === etag)
    return { ok: true, definition: context.definition.definition }
  const found = await context.deps.definitions.read(name, etag)
  if (found.ok) context.definition = { etag, definition: found.definition }
  return found
}

type ModelLimits = Pick<Model, 'toolsMax'>
type ModelFacts = Pick<LoadedFacts, 'modelOverride' | 'reservedModel'>

/** Returns the model that money is reserved for, or the one that was chosen for this run. */
export const resolveModel = (
  { deps, connections }: EffectContext,
  { brain }: Definition,
  { modelOverride: override, reservedModel: reserved }: ModelFacts,
) =>
  deps.models.resolve(
    {
      ...brain,
      ...(override !== undefined && { override }),
      ...(reserved !== undefined && { reserved }),
    },
    connections ?? [],
  )

/**
 * Reloads the tools that were added or removed since the last call; undefined when there is nothing
 * to wait for.
 */
export const refreshTools = ({
  hubSnapshot: grants,
  deps,
}: EffectContext): Promise<void> | undefined =>
  grants ? deps.tools.refresh(grants.policy) : undefined

/**
 * Returns the tools that the agent can use now, and the names of those that its model does not take: the last ones, so
 * that the hub's own stay.
 */
export function listTools(context: EffectContext, facts: LoadedFacts, { toolsMax }: ModelLimits) {
  const { deps, hubSnapshot } = context
  const all = hubSnapshot ? deps.tools.list(toToolCaller(context, facts), hubSnapshot.policy) : []
  const max = toolsMax ?? all.length
  return { tools: all.slice(0, max), leftOut: all.slice(max).map(({ name }) => name) }
}

/** Returns the input of hooks. */
export function toHookContext(context: EffectContext, facts: LoadedFacts): HookContext {
  const { state } = context.getActivation()
  if (!state.activationId) throw new Error('hook without an activation')
  return {
    agent: { id: context.agentId, name: facts.agentName },
    activationId: state.activationId,
    step: state.iteration,
    postId: facts.answer?.postId ?? null,
    model: facts.model.id,
    budgets: context.hubSnapshot?.budgets ?? [],
    now: context.deps.clock.now(),
  }
}
