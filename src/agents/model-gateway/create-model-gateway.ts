import type { RequestCounts } from '../../hub/contract/hub'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type {
  ModelRequestAdmission,
  ModelRequestArbiter,
  ModelRequestResult,
} from '../contract/coding-agents'
import { estimateTokensOfChars } from '../loop/message'
import { type Clock, systemClock, type Upstream, type UpstreamFinder } from '../models/model-port'
import { type GatewayError, gatewayErrors, toErrorResponse, toRefusal } from './gateway-errors'
import type { JsonObject } from './json-fields'
import {
  measureRequest,
  parseObject,
  type ReadRequest,
  readModelRequest,
  rewriteRequest,
} from './read-request'
import { createSettlement, noAnswer, type Settlement, sendRequest } from './send-request'

/** The run whose token a request has. */
interface TokenRun {
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
  return Response.json({ input_tokens: measureRequest(body, bytes).promptTokens })
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

/** What a request to the gateway asks for. */
type GatewayRoute =
  | { kind: 'answer' | 'count'; protocol: ModelProtocol }
  /** All models of the run, or one: it has a single model, whatever name the program asks for. */
  | { kind: 'list' | 'model'; protocol: ModelProtocol }

/** The first segment below which the gateway answers. */
const gatewayPath = '/gateway'

const answers: Record<string, ModelProtocol> = {
  messages: 'anthropic-messages',
  'chat/completions': 'openai-chat',
  responses: 'openai-responses',
}

/**
 * Returns what a path asks for, or null for an unknown one. Clients append their paths to the base URL with
 * `/v1`, without, or though the base has it already; all of these mean the same.
 */
function readGatewayRoute(request: Request): GatewayRoute | null {
  const { pathname } = new URL(request.url)
  if (!pathname.startsWith(`${gatewayPath}/`)) return null
  const path = pathname
    .slice(gatewayPath.length)
    .replace(/\/{2,}/g, '/')
    .replace(/^(\/v1)+(?=\/)/, '')
    .replace(/^\/|\/$/g, '')
  if (request.method === 'POST') {
    const protocol = Object.hasOwn(answers, path) ? answers[path] : undefined
    if (protocol) return { kind: 'answer', protocol }
    if (path === 'messages/count_tokens') return { kind: 'count', protocol: 'anthropic-messages' }
    return null
  }
  if (request.method !== 'GET' || !/^models(\/|$)/.test(path)) return null
  return { kind: path === 'models' ? 'list' : 'model', protocol: guessProtocol(request) }
}

/** Returns the protocol of a request whose path does not decide: only clients of Anthropic send a version. */
const guessProtocol = ({ headers }: Request): ModelProtocol =>
  headers.has('anthropic-version') ? 'anthropic-messages' : 'openai-chat'

interface ListedModel {
  /** As its provider names it. */
  id: string
  contextTokens: number
  outputTokens: number
}

/** The protocols require a date, which clients only sort by. */
const createdAt = Date.UTC(2026, 0, 1)

/** Presents a model as the protocol lists it. */
function presentModel(protocol: ModelProtocol, model: ListedModel) {
  const { id, contextTokens, outputTokens } = model
  return protocol === 'anthropic-messages'
    ? {
        type: 'model',
        id,
        display_name: id,
        created_at: new Date(createdAt).toISOString(),
        max_input_tokens: contextTokens,
        max_tokens: outputTokens,
      }
    : {
        id,
        object: 'model',
        created: createdAt / 1_000,
        owned_by: 'hub',
        context_length: contextTokens,
        max_completion_tokens: outputTokens,
      }
}

/** Presents the list of models with its only entry. */
function presentModels(protocol: ModelProtocol, model: ListedModel) {
  const data = [presentModel(protocol, model)]
  return protocol === 'anthropic-messages'
    ? { data, has_more: false, first_id: model.id, last_id: model.id }
    : { object: 'list', data }
}

/** What a program answers on a hub without a model: the offline model cannot work on a repository. */
export const offlineText =
  'No model is set up for this agent, so nothing was done. An admin can set a key of a model provider; then ask again.'

const isOffline = (model: string): boolean => model.startsWith('offline/')

interface OfflineAnswer {
  model: string
  input: number
  output: number
}

/** Answers in the hub itself that there is no model, so that a run without a key ends with words. */
function answerOffline(
  protocol: ModelProtocol,
  { facts, isStreamed }: ReadRequest,
  settlement: Settlement,
): Response {
  const output = estimateTokensOfChars(offlineText.length)
  const { promptTokens: input, model } = facts
  settlement.settle({
    status: 200,
    finish: 'stop',
    mayBeCharged: false,
    problem: null,
    usage: {
      inputTokens: input,
      outputTokens: output,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    },
  })
  const events = compose[protocol]({ model, input, output })
  if (!isStreamed) return Response.json(events.whole)
  return new Response(events.stream, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
  })
}

const named = (events: (JsonObject & { type: string })[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

/** Compose the answer of each protocol: as one object, and as a stream of events. */
const compose: Record<ModelProtocol, (answer: OfflineAnswer) => { whole: object; stream: string }> =
  {
    'anthropic-messages': composeAnthropic,
    'openai-chat': composeChat,
    'openai-responses': composeResponses,
  }

function composeAnthropic({ model, input, output }: OfflineAnswer) {
  const base = { id: 'msg_offline', type: 'message', role: 'assistant', model }
  const text = { type: 'text', text: offlineText }
  const delta = { stop_reason: 'end_turn', stop_sequence: null }
  const usage = { input_tokens: input, output_tokens: output }
  const begun = { ...base, content: [], stop_reason: null, stop_sequence: null, usage }
  return {
    whole: { ...base, content: [text], ...delta, usage },
    stream: named([
      { type: 'message_start', message: begun },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: offlineText },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta, usage: { output_tokens: output } },
      { type: 'message_stop' },
    ]),
  }
}

function composeChat({ model, input, output }: OfflineAnswer) {
  const base = { id: 'chatcmpl-offline', created: 0, model }
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  const message = { role: 'assistant', content: offlineText }
  const chunk = (choices: object[], rest: object = {}) =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices, ...rest })}\n\n`
  return {
    whole: {
      ...base,
      object: 'chat.completion',
      usage,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    },
    stream: [
      chunk([{ index: 0, delta: message, finish_reason: null }]),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      chunk([], { usage }),
      'data: [DONE]\n\n',
    ].join(''),
  }
}

function composeResponses({ model, input, output }: OfflineAnswer) {
  const part = { type: 'output_text', text: offlineText, annotations: [] }
  const begun = { type: 'message', id: 'msg_offline', role: 'assistant' }
  const item = { ...begun, status: 'completed', content: [part] }
  const response = { id: 'resp_offline', object: 'response', created_at: 0, model }
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const whole = { ...response, status: 'completed', output: [item], usage }
  const at = { item_id: begun.id, output_index: 0, content_index: 0 }
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...begun, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: offlineText },
    { type: 'response.output_text.done', ...at, text: offlineText },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ]
  return { whole, stream: named(events.map((event, at) => ({ ...event, sequence_number: at }))) }
}
