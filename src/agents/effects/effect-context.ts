import type {
  ActivationApi,
  BudgetStatus,
  Environment,
  GrantPolicy,
  MediaStore,
  ModelConnection,
  Reservation,
} from '../../hub/contract/hub'
import type { FileUse, ToolApi, ToolCaller } from '../../mcp-servers/contract/tools'
import type { AccountId, ActivationId, Clock } from '../../shared/ids'
import type { Log } from '../../shared/log'
import type { RunnerApi } from '../contract/coding-agents'
import type { Definition } from '../definitions/definition'
import type { HookContext } from '../hooks/hook'
import type { HookRunner } from '../hooks/hook-runner'
import { type AdmittedCall, CallRegister } from '../loop/admit-calls'
import type { Charge, LoadedFacts, LoopEvent, LoopEventOf } from '../loop/event'
import type { Message } from '../loop/message'
import { findPrivacy, hasReadUntrusted } from '../loop/privacy'
import type { LoopState } from '../loop/state'
import type { MemoryStore } from '../memory/memory-store'
import { learnRatio, type TokenRatio } from '../models/estimate-tokens'
import type { Model, ModelRegistry } from '../models/model-port'
import type { RecoveryTurns } from '../recovery'
import type { ActivationStream, LiveCall } from '../run/live-stream'
import type { TraceExporter } from '../run/otlp'
import type { Journal, SentCall } from '../storage/journal'
import type { PatchStore } from '../storage/patch-store'
import { type CallPlan, estimateWideTokens, type PromptTokens } from './price-call'

/** The current activation. */
export interface ActivationSnapshot {
  state: LoopState
  events: LoopEvent[]
}

/** Policy, money and budgets as last returned by the hub; read again before every further call. */
interface HubSnapshot {
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
  /** That call while it is in flight: what it is charged if it is stopped now, and what it has written. */
  inFlight: { effectId: number; measure(): Charge; text: string } | null
  /** What models have counted for this agent's prompts, as stored; null until first read. */
  ratios: Record<string, TokenRatio> | null
  /** The size of the agent's storage at an earlier time; null until first read. */
  storageSize: { at: number; bytes: number } | null
  /** What the agent's files took up at an earlier time; null until first read. */
  fileUse: { at: number; activationId: ActivationId | null; use: FileUse | null } | null
  /** The first prompt and its size, without tools: every later prompt starts with it. */
  firstPrompt: { messages: Message[]; size: PromptTokens } | null
  /** The tools of the last model call. */
  lastTools: { activationId: ActivationId | null; hash: string } | null
  /** The text that a program writes, for live watchers. */
  programText: LiveCall | null
  /** Bytes of the images in the prompt by id; null: gone. */
  images: Map<string, Uint8Array | null>
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

/** Reads an agent's definition. For an invalid or missing one, `message` has the reason. */
export interface DefinitionSource {
  read(
    name: string,
    etag: string,
  ): Promise<{ ok: true; definition: Definition } | { ok: false; message: string }>
}

/** The recorded run that a replay runs again. */
interface ReplayedRun {
  /** Facts of its LOAD; of them a replay takes what its own definition does not decide. Read them after the own LOAD. */
  readFacts(): LoadedFacts
  /** Returns the time of that run, as its model reads it, that stands for a time of the replay. */
  toRunTime(now: number): number
  /** Returns the size of its agent's storage; null when its model did not read that. */
  readStorageBytes(): number | null
}

/** Dependencies of an agent, provided by the composition root. */
export interface AgentDeps {
  hub: ActivationApi
  tools: ToolApi
  models: Pick<ModelRegistry, 'resolve'>
  /** The machines that run coding agents. */
  runners: RunnerApi
  /** How long a program may wait for an approval, in milliseconds, before its run parks. */
  approvalWaitMs: number
  /** What programs changed in repositories. */
  patches: Pick<PatchStore, 'save'>
  definitions: DefinitionSource
  /** The bytes of images. */
  media: Pick<MediaStore, 'get'>
  /** The hooks of this deployment. */
  hooks: HookRunner
  /** Wakes other agents that have waiting tasks. A hint; never throws. */
  wakeAgents(agentIds: AccountId[]): Promise<void>
  clock: Clock
  /** Whose turn it is among the interrupted runs of this process. */
  lane: RecoveryTurns
  /** Only of a replay: the run that it replays. */
  replayed?: ReplayedRun
  /** The hub's display name. */
  hubName: string
  /** Masks whatever is shaped like a credential. */
  mask(text: string): string
  log: Log
  /** Exports finished activations; absent when no collector is configured. */
  exporter?: TraceExporter
  /** Returns a random number from 0 to 1. */
  random(): number
  /** Running activations allowed on the hub. */
  capacity: number
  /** Activations of these that are reserved for exploration while agents wait to explore. */
  explorationFloor?: number
}

/** What a call is made for. */
export interface Work {
  facts: LoadedFacts
  definition: Definition
}

type WorkResult = { ok: true; work: Work } | { ok: false; failure: LoopEventOf<'model_failed'> }

/**
 * Returns what the current activation works on, or the failure of an effect whose definition is invalid.
 * LOAD has brought the connections of models; they are read again only after a crash.
 */
export async function readWork(context: EffectContext, effectId: number): Promise<WorkResult> {
  const { events } = context.getActivation()
  const facts = findLoadedFacts(events)
  if (!facts) throw new Error('a model call before LOAD')
  context.connections ??= await context.deps.hub.readConnections()
  const found = await readDefinition(context, facts.agentName, findDefinitionEtag(facts, events))
  if (!found.ok)
    return { ok: false, failure: toDefinitionFailure(context, effectId, found.message) }
  return { ok: true, work: { facts, definition: found.definition } }
}

/**
 * Returns the etag of the definition that an activation runs with: the one it was loaded with, or,
 * after it waited for its provider, the one it was resumed with, which may name another address.
 */
function findDefinitionEtag({ definition }: LoadedFacts, events: LoopEvent[]): string {
  let { etag } = definition
  let isAwaiting = false
  for (const event of events) {
    if (event.type === 'model_failed') isAwaiting = event.failure.outage !== undefined
    if (event.type === 'model_answered') isAwaiting = false
    if (event.type === 'resumed' && isAwaiting) etag = event.definitionEtag ?? etag
  }
  return etag
}

/** Returns the failure for an invalid definition. A retry cannot help, and no call was made. */
const toDefinitionFailure = (
  { deps }: EffectContext,
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

/** Models that one agent remembers; the oldest one is evicted first. */
const modelsMax = 20

/** Returns what a model has counted for this agent's prompts, as a part of a call's plan. */
export function findRatio(context: EffectContext, modelId: string): Pick<CallPlan, 'ratio'> {
  const ratio = readRatios(context)[modelId]
  return ratio ? { ratio } : {}
}

/** Learns from what a provider has counted. An estimated charge teaches nothing. */
export function recordCount(context: EffectContext, plan: CallPlan, charge: Charge): void {
  if (charge.isEstimated || plan.model.isOffline) return
  const { [plan.model.id]: before, ...others } = readRatios(context)
  const ratio = learnRatio(before ?? null, charge.inputTokens, estimateWideTokens(plan))
  if (before && isSame(before, ratio)) return
  const newest = Object.entries(others).slice(1 - modelsMax)
  context.ratios = { ...Object.fromEntries(newest), [plan.model.id]: ratio }
  context.journal.saveRatios(context.ratios)
}

/** Whether a change is too small to be worth a write. */
const isSame = (one: TokenRatio, other: TokenRatio): boolean =>
  Math.abs(one.mean - other.mean) < 0.005 && Math.abs(one.high - other.high) < 0.005

function readRatios(context: EffectContext): Record<string, TokenRatio> {
  context.ratios ??= context.journal.readRatios()
  return context.ratios
}
