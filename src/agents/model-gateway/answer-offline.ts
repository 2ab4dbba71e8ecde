import type { ModelProtocol } from '../../shared/runner-protocol'
import { estimateTokensOfChars } from '../loop/estimate'
import type { JsonObject } from './json-fields'
import type { ReadRequest } from './read-request'
import type { Settlement } from './settle-once'

/** What a program answers on a hub without a model: the offline model cannot work on a repository. */
export const offlineText =
  'No model is set up for this agent, so nothing was done. An admin can set a key of a model provider; then ask again.'

export const isOffline = (model: string): boolean => model.startsWith('offline/')

interface OfflineAnswer {
  model: string
  input: number
  output: number
}

/** Answers in the hub itself that there is no model, so that a run without a key ends with words. */
export function answerOffline(
  protocol: ModelProtocol,
  { facts, isStreamed }: ReadRequest,
  settlement: Settlement,
): Response {
  const output = estimateTokensOfChars(offlineText.length)
  const { promptTokens: input, model } = facts
  settlement.settle({
    ...{ status: 200, finish: 'stop', mayBeCharged: false, problem: null },
    usage: {
      ...{ inputTokens: input, outputTokens: output },
      ...{ cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
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
      ...{ ...base, object: 'chat.completion', usage },
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
    ...{ input_tokens: input, output_tokens: output, total_tokens: input + output },
    ...{ input_tokens_details: { cached_tokens: 0 } },
    ...{ output_tokens_details: { reasoning_tokens: 0 } },
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
