import type { RequestCounts } from '../../hub/contract/hub'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type { ModelRequestArbiter } from '../contract/coding-agents'
import type { UpstreamFinder } from '../models/model-port'
import { type Clock, systemClock } from '../models/response-timer'
import { answerOffline, isOffline } from './answer-offline'
import { type GatewayError, gatewayErrors, toErrorResponse, toRefusal } from './gateway-errors'
import { guessProtocol, readGatewayRoute } from './gateway-route'
import { presentModel, presentModels } from './present-models'
import { measurePrompt, parseObject, type ReadRequest, readModelRequest } from './read-request'
import { rewriteRequest } from './rewrite-request'
import { sendRequest } from './send-request'
import { createSettlement } from './settle-once'

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
 * Completions and Responses. The agent's object admits every request and is told how it ended; the provider's key
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
        return list(deps, protocol, run, route.model)
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
  if (isOffline(admission.model)) return answerOffline(protocol, read.request, settlement)
  const upstream = findSuitable(deps, protocol, admission)
  if ('error' in upstream) {
    settlement.settle(notSent(upstream.error.message))
    return refuse(upstream.error)
  }
  return sendRequest({
    ...{ protocol, upstream, request, clock, settlement },
    body: composeBody(protocol, read.request, { ...upstream, ...admission }),
  })
}

const composeBody = (
  protocol: ModelProtocol,
  { body }: ReadRequest,
  admitted: Parameters<typeof rewriteRequest>[2],
): string => JSON.stringify(rewriteRequest(protocol, body, admitted))

const notSent = (problem: string) => ({
  ...{ status: null, finish: 'error' as const, usage: null },
  ...{ mayBeCharged: false, answerChars: 0, problem },
})

/** Returns where the admitted model is, when it speaks the protocol of the request. */
function findSuitable(
  { findUpstream }: ModelGatewayDeps,
  protocol: ModelProtocol,
  { model, place }: { model: string; place: Parameters<UpstreamFinder['findUpstream']>[1] },
) {
  const upstream = findUpstream(model, place)
  if (!upstream) return { error: gatewayErrors.notConfigured() }
  const { title, protocols } = upstream
  return protocols.includes(protocol)
    ? upstream
    : { error: gatewayErrors.wrongProtocol(title, protocols) }
}

/** Answers how long a prompt is, by an estimate: no provider is asked, and nothing is charged. */
async function count(protocol: ModelProtocol, request: Request): Promise<Response> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  const body = parseObject(bytes)
  if (!body) return toErrorResponse(protocol, gatewayErrors.notJson())
  return Response.json({ input_tokens: measurePrompt(body, bytes).promptTokens })
}

/** Lists the one model that the run can use. */
async function list(
  { arbiterOf }: ModelGatewayDeps,
  protocol: ModelProtocol,
  { agentId, activationId }: TokenRun,
  name: string | null,
): Promise<Response> {
  const found = await arbiterOf(agentId)
    .readRunModel(activationId)
    .catch(() => 'unavailable' as const)
  if (found === 'unavailable') return toErrorResponse(protocol, gatewayErrors.unavailable())
  if (!found) return toErrorResponse(protocol, gatewayErrors.noToken())
  const model = { ...found, id: found.model.slice(found.model.indexOf('/') + 1) }
  return Response.json(
    name === null ? presentModels(protocol, model) : presentModel(protocol, model),
  )
}
