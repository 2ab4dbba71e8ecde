import * as z from 'zod'
import type {
  CallUsage,
  ModelApi,
  ModelPrice,
  ProviderState,
  TrialResult,
} from '../../agents/contract/agents'
import { outside } from '../../shared/config'
import { batch, repeatAfterFault, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError } from '../../shared/errors'
import type { AccountId, ActivationId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { sha256 } from '../../shared/sha256'
import { chargeStatements } from '../budgets/settle-queries'
import type { Actor, ModelConnection } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { findStoredResult, runActionOnce, runOrReturnStored } from '../database/run-once'
import type { PersonAnswer } from '../rules/people-sql'
import { refreshModels } from './definition-actions'
import {
  deleteSingleCall,
  type LostCall,
  reserveSingleCall,
  type SingleCall,
  selectLostCalls,
  selectSingleCall,
} from './model-queries'

/** Errors of test calls, as admins read them. */
const trialErrors = {
  noBudget: () =>
    new AppError('CONFLICT', 'The budget leaves too little for a test call.', {
      hint: 'Raise the budget at /budgets, or wait until it resets.',
    }),
  paused: () =>
    new AppError('CONFLICT', 'All agents are paused, so no model is called.', {
      hint: 'Resume them at /scheduler.',
    }),
  running: () =>
    new AppError('CONFLICT', 'Another test of yours is running.', { hint: 'Try again shortly.' }),
}

/** Body of `POST /api/v1/models/test`. */
export const modelTestInput = knownFields({
  model: z.string().trim().min(1).max(200).describe('Model as provider/model.'),
})

/** A provider with what is set up and which agents use it. */
export interface ProviderView extends ProviderState {
  hasStoredKey: boolean
  listed: ListedModel[]
  /** Agents that prefer a model of the provider, and the model without the provider. */
  users: { agent: PersonAnswer; model: string }[]
}

/** A model that a provider lists, with micro-dollars per million tokens; null: the price is unknown. */
interface ListedModel {
  name: string
  price: { input: number; output: number } | null
}

export interface ModelsView {
  providers: ProviderView[]
  /** The models that definitions with `provider: auto` use, the preferred one first. */
  auto: string[]
  prices: ModelPrice[]
  /** Agents that use the built-in offline model. */
  offline: PersonAnswer[]
}

/** Returns the providers of the hub, the models that agents use, and known prices. */
export function toModelsView(
  api: ModelApi,
  connections: ModelConnection[],
  rows: { agent: PersonAnswer; models: string }[],
): ModelsView {
  const users = rows.map(({ agent, models }) => {
    const [first = ''] = JSON.parse(models) as string[]
    const slash = first.indexOf('/')
    return { agent, provider: first.slice(0, slash), model: first.slice(slash + 1) }
  })
  return {
    providers: api.listProviders(connections).map((state) => {
      const stored = connections.find(({ provider }) => provider === state.provider)
      return {
        ...state,
        hasStoredKey: stored?.hasKey === true && !stored.isBinding,
        listed: listModels(api, connections, stored),
        users: users.filter(({ provider }) => provider === state.provider),
      }
    }),
    auto: api.listAuto(connections),
    prices: api.listPrices(connections),
    offline: users.filter(({ provider }) => provider === 'offline').map(({ agent }) => agent),
  }
}

function listModels(
  api: ModelApi,
  connections: ModelConnection[],
  stored: ModelConnection | undefined,
): ListedModel[] {
  if (!stored) return []
  const prices = api.findPrices(stored.provider, stored.listed, connections)
  return stored.listed.map((name, at) => ({ name, price: prices[at] ?? null }))
}

/** Time after the timeout of a call until its reservation counts as lost. */
const graceMs = 60_000

/** A call outside of runs, with the most that it can take. */
export interface PlannedCall extends Pick<SingleCall, 'model' | 'microusd' | 'tokens'> {
  agentId: AccountId
  accountId: AccountId
  timeoutMs: number
  /** Of a call that is made once, however often it is asked for; absent: each is another. */
  id?: ActivationId
}

type SingleCallResult<Result> =
  | { kind: 'called'; result: Result }
  | { kind: 'refused'; reason: 'paused' | 'running' | 'budget' | 'repeated' }

/**
 * Makes a model call outside of runs: its worst case is reserved from all budgets that would pay for a run of the
 * same account and requester, and what it took is charged.
 *
 * @param entry is written with the reservation, also when that is refused
 */
export async function callOnce<Result extends { usages: CallUsage[] }>(
  context: ActionContext,
  { timeoutMs, id = context.clock.newId<ActivationId>(), ...planned }: PlannedCall,
  entry: Statement<unknown> | null,
  call: () => Promise<Result>,
): Promise<SingleCallResult<Result>> {
  const { db, clock } = context
  const now = clock.now()
  const deadlineAt = now + timeoutMs + graceMs
  const { isReserved, state } = await batch(db, {
    isReserved: reserveSingleCall({ ...planned, id, now, deadlineAt }),
    state: selectSingleCall({ id, agentId: planned.agentId }),
    entry,
  })
  if (!isReserved) return { kind: 'refused', reason: findReason(state) }
  const result = await call()
  await finishCall(context, id, planned.model, result.usages)
  return { kind: 'called', result }
}

type Refusal = Extract<SingleCallResult<never>, { kind: 'refused' }>['reason']

const findReason = (
  state: { isRepeated: boolean; isHubPaused: boolean; isOtherRunning: boolean } | undefined,
): Refusal => {
  if (state?.isRepeated) return 'repeated'
  if (state?.isHubPaused) return 'paused'
  return state?.isOtherRunning ? 'running' : 'budget'
}

/** Charges calls in full whose end is unknown. */
export async function closeLostCalls(context: ActionContext, lost: LostCall[]): Promise<void> {
  for (const { id, model, microusd, tokens } of lost) {
    const usage = { inputTokens: tokens, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 }
    const facts = { microusd, isPriced: true, isEstimated: true, durationMs: 0 }
    await finishCall(context, id, model, [{ ...usage, ...facts }])
  }
}

/** Charges a call and releases its reservation. Sent again after a fault, it finds nothing that runs. */
async function finishCall(
  { db, clock }: ActionContext,
  activationId: ActivationId,
  model: string,
  usages: CallUsage[],
): Promise<void> {
  const usage = usages.map((used, index) => ({
    call: index + 1,
    model,
    at: clock.now(),
    inputTokens: used.inputTokens,
    cachedTokens: used.cachedTokens,
    outputTokens: used.outputTokens,
    reasoningTokens: used.reasoningTokens,
    costMicrousd: used.microusd,
    durationMs: used.durationMs,
    isPriced: used.isPriced,
    isEstimated: used.isEstimated,
  }))
  const now = clock.now()
  await repeatAfterFault(() =>
    batch(db, {
      charge: chargeStatements({ activationId, usage, now }),
      release: deleteSingleCall(activationId),
    }),
  )
}

type TestActor = Pick<Actor, 'accountId'>

export interface TriedModel extends TrialResult {
  /** `provider/model`. */
  model: string
}

/**
 * Makes one short call to test a model: its worst case is reserved from the budgets of the hub and of the
 * admin, as for any other call, and what it took is charged. Agents use the key of the provider once such a call succeeds.
 *
 * @throws VALIDATION for a model that this hub cannot call; CONFLICT when no budget has the money
 */
export async function tryModel(
  context: ActionContext,
  actor: TestActor,
  model: string,
  id?: ActivationId,
): Promise<TriedModel> {
  const { db, clock, agents, models } = context
  const { accountId } = actor
  const now = clock.now()
  const { connections, lost } = await batch(db, {
    connections: models.selectConnections(),
    lost: selectLostCalls({ now }),
  })
  await closeLostCalls(context, lost)
  const plan = agents.models.planTrial(model, connections)
  const entry = recordAdminAction(context, accountId, {
    action: 'model.test',
    targetType: 'model',
    targetId: plan.model,
  })
  const tried = await callOnce(
    context,
    { ...plan, agentId: accountId, accountId, timeoutMs: outside.timeoutMs, ...(id && { id }) },
    entry,
    async () => {
      const result = await agents.models.tryModel(model, connections)
      return { ...result, usages: result.usage ? [result.usage] : [] }
    },
  )
  if (tried.kind === 'refused') {
    if (tried.reason === 'repeated') throw new RepeatedTrial()
    throw trialRefusals[tried.reason]()
  }
  const { usages: _, ...result } = tried.result
  const provider = plan.model.split('/')[0]
  const isHeld = agents.models
    .listProviders(connections)
    .some((each) => each.provider === provider && each.keyProblem !== null)
  const held = connections.find((each) => isHeld && each.provider === provider)
  if (held) {
    await run(db, models.recordKeyTest(held, result.problem))
    if (result.problem === null) await refreshModels(context)
  }
  return { model: plan.model, ...result }
}

/** The same test runs, or was made and charged. */
class RepeatedTrial extends Error {}

/** A test that was sent twice waits so long for the result of the first. */
const patienceMs = outside.timeoutMs
const pauseMs = 250

/**
 * Tests a model once for each key, however often and however simultaneously it is asked for, and keeps the result.
 *
 * @param key of the form, as long as a hash
 * @throws as `tryModel`
 */
export async function tryModelOnce(
  context: ActionContext,
  actor: TestActor,
  model: string,
  key: string,
): Promise<TriedModel> {
  const { db, clock } = context
  const { accountId } = actor
  const once = { accountId, key, action: trialAction, input: null }
  const id = (await sha256(`${accountId} ${key}`)).slice(0, 32) as ActivationId
  const act = () => tryModel(context, actor, model, id)
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += pauseMs) {
    try {
      const run = () => runActionOnce(db, once, clock.now(), act)
      return (await runOrReturnStored(db, once, run)).answer
    } catch (error) {
      if (!(error instanceof RepeatedTrial)) throw error
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  throw trialErrors.running()
}

const trialAction = 'models.test'

/** Returns the result that a test with this key kept; null without any. */
export async function findTrial(
  { db }: ActionContext,
  accountId: AccountId,
  key: string,
): Promise<TriedModel | null> {
  const once = { accountId, key, action: trialAction, input: null }
  return (await findStoredResult<TriedModel>(db, once))?.answer ?? null
}

/**
 * Tests a provider whose key was just set, with its default model, or with the first that it lists. A call that is
 * refused or fails is a result too.
 *
 * @returns whether there was a model to test
 */
export async function tryProvider(
  context: ActionContext,
  actor: TestActor,
  provider: string,
  key: string,
): Promise<boolean> {
  const { db, agents, models } = context
  const connections = await run(db, models.selectConnections())
  const state = agents.models.listProviders(connections).find((each) => each.provider === provider)
  const [listed] = connections.find((each) => each.provider === provider)?.listed ?? []
  const names = [state?.defaultModel, listed].flatMap((name) => (name ? `${provider}/${name}` : []))
  const canTry = (name: string) =>
    toRefusal(() => agents.models.planTrial(name, connections)) === null
  const model = names.find(canTry)
  if (model === undefined) return false
  try {
    await tryModelOnce(context, actor, model, key)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const failure = `${error.message} ${error.hint ?? ''}`.trim()
    const untried = {
      model,
      usage: null,
      durationMs: 0,
      text: '',
      failure,
      problem: 'untested' as const,
    }
    const once = { accountId: actor.accountId, key, action: trialAction, input: null }
    await runActionOnce(db, once, context.clock.now(), async () => untried)
  }
  return true
}

/** Returns the error that a function throws; null when it throws none. */
function toRefusal(plan: () => unknown): AppError | null {
  try {
    plan()
    return null
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

const trialRefusals = {
  paused: trialErrors.paused,
  running: trialErrors.running,
  budget: trialErrors.noBudget,
}
