import { modelGateway } from '../../shared/config'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type { ModelRequestResult } from '../contract/coding-agents'
import { createEventSplitter } from '../models/repair-stream'
import {
  describeError,
  isObject,
  type JsonObject,
  readCount,
  readField,
  readList,
  readPart,
  readText,
} from './json-fields'

type Usage = NonNullable<ModelRequestResult['usage']>

/** What is known of an answer so far. */
export interface AnswerFacts {
  /** Null: the protocol has not said how the answer ended. */
  finish: ModelRequestResult['finish'] | null
  usage: Usage | null
  /** The answer has at least one event of the protocol. */
  hasEvents: boolean
  /** The error that the provider reported within the answer. */
  problem: string | null
  /** Anthropic: the counts so far, which come in pieces. */
  counts?: JsonObject
  /** Responses: the answer has a call of a tool. */
  hasCalls?: boolean
}

const noFacts: AnswerFacts = {
  finish: null,
  usage: null,
  hasEvents: false,
  problem: null,
}

const anthropicFinishes: Record<string, AnswerFacts['finish']> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content-filter',
}

const toAnthropicFinish = (reason: unknown): AnswerFacts['finish'] =>
  typeof reason === 'string' ? (anthropicFinishes[reason] ?? 'unknown') : null

/** Tokens read from the cache, and written to it, are no part of `input_tokens`. */
function toAnthropicUsage(counts: JsonObject): Usage | null {
  const plain = readCount(counts.input_tokens)
  const output = readCount(counts.output_tokens)
  const cached = readPart(counts.cache_read_input_tokens)
  const written = readPart(counts.cache_creation_input_tokens)
  if (plain === null || output === null || cached === null || written === null) return null
  return {
    inputTokens: plain + cached + written,
    cachedTokens: cached,
    cacheWriteTokens: written,
    outputTokens: output,
    reasoningTokens: 0,
  }
}

/** Adds counts to those so far. The later ones are totals; they may leave out what has not changed, or have zeros for it. */
function addCounts(before: JsonObject | undefined, usage: unknown): JsonObject {
  const given = isObject(usage) ? usage : {}
  const known = Object.entries(given).filter(
    ([name, value]) => typeof value === 'number' && (value !== 0 || !before?.[name]),
  )
  return { ...before, ...Object.fromEntries(known) }
}

function readAnthropicEvent(facts: AnswerFacts, event: JsonObject): AnswerFacts {
  switch (event.type) {
    case 'message_start': {
      // What was written is counted at the end only: here it is a constant.
      const { output_tokens: _written, ...counts } = addCounts(
        facts.counts,
        readField(event.message, 'usage'),
      )
      return { ...facts, counts }
    }
    case 'message_delta': {
      const counts = addCounts(facts.counts, event.usage)
      const finish = toAnthropicFinish(readField(event.delta, 'stop_reason')) ?? facts.finish
      return { ...facts, counts, finish, usage: finish === null ? null : toAnthropicUsage(counts) }
    }
    case 'error':
      return { ...facts, finish: 'error', problem: describeError(event.error) }
    default:
      return facts
  }
}

const readAnthropicAnswer = (answer: JsonObject): AnswerFacts => ({
  finish: toAnthropicFinish(answer.stop_reason),
  usage: toAnthropicUsage(isObject(answer.usage) ? answer.usage : {}),
  hasEvents: true,
  problem: answer.type === 'error' ? describeError(answer.error) : null,
})

const chatFinishes: Record<string, AnswerFacts['finish']> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  length: 'length',
  content_filter: 'content-filter',
  error: 'error',
}

const toChatFinish = (reason: unknown): AnswerFacts['finish'] =>
  typeof reason === 'string' ? (chatFinishes[reason] ?? 'unknown') : null

/** Some servers name cached tokens differently. */
function toChatUsage(usage: unknown): Usage | null {
  const input = readCount(readField(usage, 'prompt_tokens'))
  const output = readCount(readField(usage, 'completion_tokens'))
  const details = readField(usage, 'prompt_tokens_details')
  const hits = readField(details, 'cached_tokens') ?? readField(usage, 'prompt_cache_hit_tokens')
  const thoughts = readField(readField(usage, 'completion_tokens_details'), 'reasoning_tokens')
  const cached = readPart(hits)
  const written = readPart(readField(details, 'cache_write_tokens'))
  // Some servers report zeros before they have counted.
  if (!input || output === null || cached === null || written === null) return null
  return {
    inputTokens: input,
    cachedTokens: cached,
    cacheWriteTokens: written,
    outputTokens: output,
    reasoningTokens: readCount(thoughts) ?? 0,
  }
}

function readChatEvent(facts: AnswerFacts, event: JsonObject): AnswerFacts {
  if (event.error !== undefined && event.error !== null)
    return { ...facts, finish: 'error', problem: describeError(event.error) }
  const choice = readList(event, 'choices')[0]
  return {
    ...facts,
    finish: toChatFinish(readField(choice, 'finish_reason')) ?? facts.finish,
    usage: isObject(event.usage) ? toChatUsage(event.usage) : facts.usage,
  }
}

const readChatAnswer = (answer: JsonObject): AnswerFacts => readChatEvent(noFacts, answer)

const incompleteFinishes: Record<string, AnswerFacts['finish']> = {
  max_output_tokens: 'length',
  content_filter: 'content-filter',
}

function toResponsesUsage(usage: unknown): Usage | null {
  const input = readCount(readField(usage, 'input_tokens'))
  const output = readCount(readField(usage, 'output_tokens'))
  const details = readField(usage, 'input_tokens_details')
  const thoughts = readField(readField(usage, 'output_tokens_details'), 'reasoning_tokens')
  const cached = readPart(readField(details, 'cached_tokens'))
  const written = readPart(readField(details, 'cache_write_tokens'))
  if (input === null || output === null || cached === null || written === null) return null
  return {
    inputTokens: input,
    cachedTokens: cached,
    cacheWriteTokens: written,
    outputTokens: output,
    reasoningTokens: readCount(thoughts) ?? 0,
  }
}

const isCall = (item: unknown): boolean => readText(item, 'type').endsWith('_call')

function toResponsesFinish(response: unknown, hasCalls: boolean): AnswerFacts['finish'] {
  switch (readField(response, 'status')) {
    case 'completed':
      return hasCalls || readList(response, 'output').some(isCall) ? 'tool-calls' : 'stop'
    case 'incomplete': {
      const reason = readText(readField(response, 'incomplete_details'), 'reason')
      return incompleteFinishes[reason] ?? 'unknown'
    }
    case 'failed':
      return 'error'
    case 'cancelled':
      return 'cancelled'
    default:
      return null
  }
}

const endings = new Set(['response.completed', 'response.incomplete', 'response.failed'])

function readResponsesEvent(facts: AnswerFacts, event: JsonObject): AnswerFacts {
  const type = readText(event, 'type')
  if (endings.has(type)) return readEnd(facts, event.response)
  if (type === 'error' || event.error) {
    return { ...facts, finish: 'error', problem: describeError(event.error ?? event) }
  }
  if (type === 'response.output_item.done' && isCall(event.item))
    return { ...facts, hasCalls: true }
  return facts
}

function readEnd(facts: AnswerFacts, response: unknown): AnswerFacts {
  const error = readField(response, 'error')
  return {
    ...facts,
    finish: toResponsesFinish(response, facts.hasCalls === true),
    usage: toResponsesUsage(readField(response, 'usage')),
    problem: error ? describeError(error) : null,
  }
}

const readResponsesAnswer = (answer: JsonObject): AnswerFacts => readEnd(noFacts, answer)

/** Reads one event of a streamed answer. */
const readEvent: Record<ModelProtocol, (facts: AnswerFacts, event: JsonObject) => AnswerFacts> = {
  'anthropic-messages': readAnthropicEvent,
  'openai-chat': readChatEvent,
  'openai-responses': readResponsesEvent,
}

/** Reads an answer that is one JSON object. */
const readAnswer: Record<ModelProtocol, (answer: JsonObject) => AnswerFacts> = {
  'anthropic-messages': readAnthropicAnswer,
  'openai-chat': readChatAnswer,
  'openai-responses': readResponsesAnswer,
}

/** Reads usage and end of an answer from its bytes, as they pass. */
interface AnswerReader {
  add(bytes: Uint8Array): void
  /** Reads what is left. */
  end(): void
  facts(): AnswerFacts
}

/**
 * Returns what is known of an answer, without counts of servers that do not count: they send zeros, but every prompt has
 * tokens, and so has every answer that nothing filtered.
 */
function withBelievedUsage(facts: AnswerFacts): AnswerFacts {
  const { finish, usage } = facts
  const isCounted =
    usage && usage.inputTokens > 0 && (usage.outputTokens > 0 || finish === 'content-filter')
  return isCounted ? facts : { ...facts, usage: null }
}

/** @param isStreamed whether the answer is a stream of events; else it is one JSON object */
export function createAnswerReader(protocol: ModelProtocol, isStreamed: boolean): AnswerReader {
  return isStreamed ? readStreamedAnswer(protocol) : readWholeAnswer(protocol)
}

function readStreamedAnswer(protocol: ModelProtocol): AnswerReader {
  let facts: AnswerFacts = { ...noFacts }
  const split = createEventSplitter((data) => {
    const event = parse(data)
    if (event) facts = { ...readEvent[protocol](facts, event), hasEvents: true }
  })
  return { add: split, end: () => split(), facts: () => withBelievedUsage(facts) }
}

function readWholeAnswer(protocol: ModelProtocol): AnswerReader {
  const decoder = new TextDecoder()
  let pieces: string[] = []
  let chars = 0
  let facts: AnswerFacts = { ...noFacts }
  const add = (text: string) => {
    chars += text.length
    if (chars <= modelGateway.eventCharsMax) pieces.push(text)
  }
  return {
    add: (bytes) => add(decoder.decode(bytes, { stream: true })),
    end() {
      add(decoder.decode())
      const answer = parse(pieces.join(''))
      pieces = []
      facts = answer ? { ...readAnswer[protocol](answer), hasEvents: true } : { ...noFacts }
    },
    facts: () => withBelievedUsage(facts),
  }
}

function parse(text: string): JsonObject | null {
  // `[DONE]` ends Chat Completions.
  if (!text.trimStart().startsWith('{')) return null
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
