import { AnthropicMessagesLanguageModel, getModelCapabilities } from '@ai-sdk/anthropic/internal'
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import {
  createRepairingFetch,
  isObject,
  type StreamRepair,
  toArguments,
  toCount,
  toText,
} from '../repair-stream'
import type { ProviderConnection, RetryPolicy } from './provider'

/**
 * Creates a model of the Messages API. A base URL works with and without `/v1`, since Anthropic's own
 * clients expect it without.
 */
export function createAnthropicModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return new AnthropicModel(modelName, {
    provider: 'anthropic.messages',
    baseURL: baseUrl.endsWith('/v1') ? baseUrl : `${baseUrl}/v1`,
    headers: () => ({ 'anthropic-version': '2023-06-01', 'x-api-key': key }),
    fetch: createRepairingFetch(fetch, createMessagesRepair),
  })
}

type Config = ConstructorParameters<typeof AnthropicMessagesLanguageModel>[1]

/** Sends the configured temperature also to models that the library does not know, for which it drops it. */
class AnthropicModel extends AnthropicMessagesLanguageModel {
  readonly #config: Config

  constructor(modelName: string, config: Config) {
    super(modelName, config)
    this.#config = config
  }

  override async doStream(options: LanguageModelV4CallOptions) {
    const { temperature, topP } = options
    const isKnown = getModelCapabilities(this.modelId).isKnownModel
    if (isKnown || (temperature ?? topP) === undefined) return super.doStream(options)
    const sampling = temperature === undefined ? { top_p: topP } : { temperature }
    const sending = new AnthropicMessagesLanguageModel(this.modelId, {
      ...this.#config,
      transformRequestBody: (body) => ({ ...body, ...sampling }),
    })
    return sending.doStream(options)
  }
}

export const anthropicRetryPolicy: RetryPolicy = {
  streamedErrors: {
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  },
  finalErrors: [],
}

type Fields = Record<string, unknown>

/** Kinds of content that an answer without tools of the provider has, with the field of each that holds text. */
const blocks: Record<string, string | null> = {
  text: 'text',
  thinking: 'thinking',
  redacted_thinking: null,
  tool_use: null,
}

/** Kinds of deltas, with the field that each must have as a text. */
const deltas: Record<string, string> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  input_json_delta: 'partial_json',
}

/**
 * Repairs the events of the Messages API (https://docs.anthropic.com/en/docs/build-with-claude/streaming), which says
 * that clients should handle unknown events: those, and unknown content and deltas, are left out. Text within the start
 * of a block becomes a delta, a `message_delta` without usage changes no count, and zeros replace no counts.
 */
export function createMessagesRepair(): StreamRepair {
  let isFinished = false
  let isStopped = false
  let hasBegun = false
  let counts: Fields = {}
  /** Indexes of the blocks that are read. */
  const open = new Set<number>()

  const startBlock = (index: number, block: Fields): object[] => {
    const kind = toText(block.type) ?? ''
    if (!Object.hasOwn(blocks, kind)) return []
    const field = blocks[kind]
    const text = field ? (toText(block[field]) ?? '') : ''
    const content = field ? { type: kind, [field]: '' } : toBlock(kind, block, index)
    if (content === null) return []
    open.add(index)
    const start = { type: 'content_block_start', index, content_block: content }
    if (!field || text === '') return [start]
    const delta = { type: `${kind}_delta`, [field]: text }
    return [start, { type: 'content_block_delta', index, delta }]
  }

  const addDelta = (index: number, given: Fields): object[] => {
    const kind = toText(given.type) ?? ''
    const field = Object.hasOwn(deltas, kind) ? deltas[kind] : undefined
    if (field === undefined) return []
    const text = field === 'partial_json' ? toArguments(given[field]) : toText(given[field])
    if (text === null) return []
    // A text whose start was lost; without theirs, arguments have no name.
    const name = kind.replace('_delta', '')
    const start = open.has(index) || !blocks[name] ? [] : startBlock(index, { type: name })
    if (!open.has(index)) return []
    const delta = { type: kind, [field]: text }
    return [...start, { type: 'content_block_delta', index, delta }]
  }

  const addEnd = (event: Fields): object[] => {
    const delta = isObject(event.delta) ? event.delta : {}
    counts = { ...counts, ...pickCounts(event.usage) }
    const thoughts = isObject(event.usage) ? event.usage.output_tokens_details : null
    const reason = toText(delta.stop_reason)
    isFinished ||= reason !== null
    return [
      {
        type: 'message_delta',
        delta: { stop_reason: reason, stop_sequence: toText(delta.stop_sequence) },
        usage: {
          output_tokens: 0,
          ...counts,
          ...(isObject(thoughts) && { output_tokens_details: pickCounts(thoughts) }),
        },
      },
    ]
  }

  const begin = (event: Fields): object[] => {
    // A server that repeats it means the same message.
    if (hasBegun) return []
    hasBegun = true
    const message = isObject(event.message) ? event.message : {}
    // Only `message_delta` says how much was written.
    const { output_tokens: _written, ...usage } = pickCounts(message.usage)
    counts = { input_tokens: 0, ...usage }
    const named = { id: toText(message.id), model: toText(message.model) }
    return [{ type: 'message_start', message: { ...named, usage: counts } }]
  }

  const stop = (): object[] => {
    isStopped = true
    return [{ type: 'message_stop' }]
  }

  /** By the type of the event. */
  const repairs: Record<string, (event: Fields, index: number) => object[]> = {
    message_start: begin,
    content_block_start: ({ content_block: block }, index) =>
      isObject(block) ? startBlock(index, block) : [],
    content_block_delta: ({ delta }, index) => (isObject(delta) ? addDelta(index, delta) : []),
    content_block_stop: (_event, index) =>
      open.delete(index) ? [{ type: 'content_block_stop', index }] : [],
    message_delta: addEnd,
    message_stop: stop,
    error: ({ error }) => (isFinished ? [] : [{ type: 'error', error: toError(error) }]),
  }

  return {
    isFinished: () => isFinished,
    join: (before, after) => joinDeltas(before as DeltaEvent, after as DeltaEvent),
    end: () => (isFinished && !isStopped ? stop() : []),
    repair(event) {
      if (event === null) return isFinished ? [] : null
      const type = toText(event.type) ?? ''
      const index = toCount(event.index) ?? 0
      return Object.hasOwn(repairs, type) ? (repairs[type]?.(event, index) ?? []) : []
    },
  }
}

interface DeltaEvent {
  type: string
  index: number
  delta: Fields
}

/** Fields of deltas whose texts follow each other; a signature comes whole. */
const texts = ['text', 'thinking', 'partial_json']

/** Joins two deltas that go on with the same text. */
function joinDeltas(before: DeltaEvent, after: DeltaEvent): DeltaEvent | null {
  const { type, index, delta } = before
  if (type !== 'content_block_delta' || after.type !== type || after.index !== index) return null
  const field = deltas[String(delta.type)]
  if (!field || !texts.includes(field) || after.delta.type !== delta.type) return null
  return { ...before, delta: { ...delta, [field]: `${delta[field]}${after.delta[field]}` } }
}

function toBlock(kind: string, block: Fields, index: number): Fields | null {
  if (kind === 'redacted_thinking') {
    const data = toText(block.data)
    return data === null ? null : { type: kind, data }
  }
  const name = toText(block.name)
  if (name === null) return null
  const input = isObject(block.input) ? block.input : {}
  return { type: kind, id: toText(block.id) || `call_${index}`, name, input }
}

const toError = (error: unknown): Fields => {
  const fields = isObject(error) ? error : {}
  return {
    type: toText(fields.type) ?? 'api_error',
    message: toText(fields.message) ?? toText(error) ?? JSON.stringify(error) ?? '',
  }
}

/** Returns the counts that say something: a zero does not take back what was counted before. */
const pickCounts = (usage: unknown): Fields =>
  Object.fromEntries(
    Object.entries(isObject(usage) ? usage : {}).flatMap(([name, value]) => {
      const count = toCount(value)
      return name.endsWith('_tokens') && count !== null && count !== 0 ? [[name, count]] : []
    }),
  )
