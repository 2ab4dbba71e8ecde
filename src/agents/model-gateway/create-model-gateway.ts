import type { RequestCounts } from '../../hub/contract/hub'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type {
  ModelRequestAdmission,
  ModelRequestArbiter,
  ModelRequestResult,
} from '../contract/coding-agents'
import type { Upstream, UpstreamFinder } from '../models/model-port'
import { type Clock, systemClock } from '../models/response-timer'
import { answerOffline, isOffline } from './answer-offline'
import { type GatewayError, gatewayErrors, toErrorResponse, toRefusal } from './gateway-errors'
import { guessProtocol, readGatewayRoute } from './gateway-route'
import { presentModel, presentModels } from './present-models'
import { measurePrompt, parseObject, type ReadRequest, readModelRequest } from './read-request'
import { rewriteRequest } from './rewrite-request'
import { sendRequest } from './send-request'
import { createSettlement, noAnswer, type Settlement } from './settle-once'

/** The run whose token a request has. */
export interface TokenRun {
  agentId: AccountId
  activationId: ActivationId
  /** Null: the token is not bound to an attempt. */
  attempt: number | null
}

export interface ModelGatewayDeps {
  /** Returns the run of a token that opens models; null: not valid, or the run has ended. */
  findRun(token: string): Promise<TokenRun | null>
  /** Returns the object of an agent. */
  arbiterOf(agentId: AccountId): ModelRequestArbiter
  findUpstream: UpstreamFinder['findUpstream']
  clock?: Clock
  /** Keeps the Worker alive until work finishes that outlives its request. */
  defer(work: Promise<unknown>): void
}

/**
 * Creates the handler of `/gateway/...`, through which coding agents use models: Anthropic Messages, OpenAI Chat
 * Completions and Responses. The agent's object admits every request and learns how it ended; the provider's key
 * is put in here.
 */
export function createModelGateway(
  deps: ModelGatewayDeps,
): (request: Request, counts: RequestCounts) => Promise<Response> {
  return async (request, counts) => {
    const route = readGatewayRoute(request)
    if (!route) return toErrorResponse(guessProtocol(request), gatewayErrors.unknownPath())
    const { protocol } = route
    const token = readToken(request)
    const run = token === null ? null : await deps.findRun(token)
    if (!run) return toErrorResponse(protocol, gatewayErrors.noToken())
    counts.recordCaller(run.agentId)
    switch (route.kind) {
      case 'answer':
        return answer(deps, protocol, run, request)
      case 'count':
        return count(protocol, request)
      case 'list':
        return describeModel(deps, run, protocol, presentModels)
      case 'model':
        return describeModel(deps, run, protocol, presentModel)
    }
  }
}

/** Returns the token of a request, in the header that its protocol or its client uses. */
const readToken = ({ headers }: Request): string | null =>
  /^Bearer +(\S{1,8000})$/i.exec(headers.get('authorization') ?? '')?.[1] ??
  /^\S{1,8000}$/.exec(headers.get('x-api-key') ?? '')?.[0] ??
  null

async function answer(
  deps: ModelGatewayDeps,
  protocol: ModelProtocol,
  run: TokenRun,
  request: Request,
): Promise<Response> {
  const refuse = (error: GatewayError) => toErrorResponse(protocol, error)
  const read = readModelRequest(protocol, new Uint8Array(await request.arrayBuffer()))
  if (!read.ok) return refuse(read.error)
  const clock = deps.clock ?? systemClock
  const { agentId, activationId, attempt } = run
  const arbiter = deps.arbiterOf(agentId)
  const facts = { ...read.request.facts, ...(attempt !== null && { attempt }) }
  const admission = await arbiter.admitRequest(activationId, facts).catch(() => null)
  if (!admission) return refuse(gatewayErrors.unavailable())
  if (!admission.ok) return refuse(toRefusal(admission, clock.now()))
  const settlement = createSettlement(arbiter, activationId, admission.request, clock)
  deps.defer(settlement.done)
  try {
    return await send(deps, { protocol, request, read: read.request, admission, settlement, clock })
  } catch (error) {
    settlement.settle(notSent('The hub could not send the request.'))
    throw error
  }
}

interface AdmittedRequest {
  protocol: ModelProtocol
  request: Request
  read: ReadRequest
  admission: Extract<ModelRequestAdmission, { ok: true }>
  settlement: Settlement
  clock: Clock
}

/** Answers an admitted request: from its provider, or in the hub itself when there is none. */
async function send(
  { findUpstream }: ModelGatewayDeps,
  { read, admission, ...admitted }: AdmittedRequest,
): Promise<Response> {
  const { protocol, settlement } = admitted
  if (isOffline(admission.model)) return answerOffline(protocol, read, settlement)
  const upstream = findUpstream(admission.model, admission.place, admission.connections)
  const problem = findMismatch(protocol, upstream)
  if (!upstream || problem) {
    const error = problem ?? gatewayErrors.notConfigured()
    settlement.settle(notSent(error.message))
    return toErrorResponse(protocol, error)
  }
  const body = rewriteRequest(protocol, read.body, { ...upstream, ...admission })
  return sendRequest({
    ...admitted,
    upstream,
    body: JSON.stringify(body),
    isStreamed: read.isStreamed,
  })
}

const notSent = (problem: string): ModelRequestResult => ({ ...noAnswer, problem })

/** Returns the error for a provider that does not speak the protocol of a request. */
function findMismatch(protocol: ModelProtocol, upstream: Upstream | null): GatewayError | null {
  if (!upstream || upstream.protocols.includes(protocol)) return null
  return gatewayErrors.wrongProtocol(upstream.title, upstream.protocols)
}

/** Answers how long a prompt is, by an estimate: no provider is asked, and nothing is charged. */
async function count(protocol: ModelProtocol, request: Request): Promise<Response> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  const body = parseObject(bytes)
  if (!body) return toErrorResponse(protocol, gatewayErrors.notJson())
  return Response.json({ input_tokens: measurePrompt(body, bytes).promptTokens })
}

/** Presents the model that the run uses, as its agent's object knows it. */
async function describeModel(
  { arbiterOf }: ModelGatewayDeps,
  { agentId, activationId }: TokenRun,
  protocol: ModelProtocol,
  present: typeof presentModel | typeof presentModels,
): Promise<Response> {
  const found = await arbiterOf(agentId)
    .readRunModel(activationId)
    .catch(() => 'unavailable' as const)
  if (found === 'unavailable') return toErrorResponse(protocol, gatewayErrors.unavailable())
  if (!found) return toErrorResponse(protocol, gatewayErrors.noToken())
  const id = found.model.slice(found.model.indexOf('/') + 1)
  return Response.json(present(protocol, { ...found, id }))
}
