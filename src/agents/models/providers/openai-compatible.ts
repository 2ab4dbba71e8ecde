import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import * as z from 'zod'
import {
  createRepairingFetch,
  isObject,
  type StreamRepair,
  toArguments,
  toCount,
  toText,
} from '../repair-stream'
import { findRepeatedIds } from '../repeated-call-ids'
import { readThoughts, splitThoughts } from '../split-thoughts'
import type { ProviderConnection } from './provider'

/** Creates a model of Chat Completions, the protocol of most open-model servers. The key is optional. */
export function createOpenAICompatibleModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return new OpenModel(modelName, {
    provider: 'openai-compatible.chat',
    url: ({ path }) => `${baseUrl}${path}`,
    headers: () => (key ? { Authorization: `Bearer ${key}` } : {}),
    fetch: createRepairingFetch(fetch, createChatRepair),
    includeUsage: true,
    convertUsage,
  })
}

class OpenModel extends OpenAICompatibleChatLanguageModel {
  override async doStream(options: LanguageModelV4CallOptions) {
    const result = await super.doStream({ ...options, includeRawChunks: true })
    return { ...result, stream: splitThoughts(readThoughts(findRepeatedIds(result.stream))) }
  }
}

const count = z.number().nullish().catch(null)

/** The protocol defines `cached_tokens` only; the other two cache fields are additions of servers. */
const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z
    .object({ cached_tokens: count, cache_write_tokens: count })
    .nullish()
    .catch(null),
  prompt_cache_hit_tokens: count,
  completion_tokens_details: z.object({ reasoning_tokens: count }).nullish().catch(null),
})

function convertUsage(raw: unknown): LanguageModelV4Usage {
  const usage = usageSchema.safeParse(raw).data
  const total = usage?.prompt_tokens ?? undefined
  const output = usage?.completion_tokens ?? undefined
  const details = usage?.prompt_tokens_details
  const cacheRead = details?.cached_tokens ?? usage?.prompt_cache_hit_tokens ?? 0
  const cacheWrite = details?.cache_write_tokens ?? undefined
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? 0
  return {
    inputTokens: { total, noCache: undefined, cacheRead, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning },
  }
}

type Fields = Record<string, unknown>

/** A repaired chunk. */
interface Chunk {
  error?: unknown
  choices?: { delta: Fields | null; finish_reason: string | null }[]
  usage?: Fields
}

/**
 * Repairs Chat Completions (https://platform.openai.com/docs/api-reference/chat-streaming) as servers of many models
 * send them: chunks without `choices` or with a `message` for a delta, usage of other forms, arguments as an object, a
 * call whose first delta has no function, any role. What has no meaning is left out.
 */
export function createChatRepair(): StreamRepair {
  let isFinished = false
  return {
    isFinished: () => isFinished,
    end: () => [],
    join: (before, after) => joinChunks(before as Chunk, after as Chunk),
    repair(chunk) {
      if (chunk === null) return isFinished ? [] : null
      const error = chunk.error ?? undefined
      if (error !== undefined) return isFinished ? [] : [{ error: toError(error) }]
      const usage = toUsage(chunk.usage)
      const choices = toChoices(chunk.choices)
      if (choices.length === 0 && usage === null) return []
      isFinished ||= choices.some((choice) => choice.finish_reason !== null)
      const { id, created, model } = chunk
      const named = { id: toText(id), created: toCount(created), model: toText(model) }
      return [{ ...named, choices, ...(usage && { usage }) }]
    },
  }
}

/** Fields of a delta whose texts follow each other. */
const texts = ['content', 'reasoning', 'reasoning_content']

/** Joins two chunks that only go on with the same text, or with the arguments of the same call. */
function joinChunks(before: Chunk, after: Chunk): Chunk | null {
  const [one, two] = [toOnlyField(before), toOnlyField(after)]
  if (!one || !two || one.name !== two.name) return null
  const value = joinValues(one, two)
  if (value === null) return null
  const choice = { delta: { ...one.delta, [one.name]: value }, finish_reason: null }
  return { ...before, choices: [choice] }
}

interface OnlyField {
  delta: Fields
  name: string
  value: unknown
}

/** Returns the field of a delta that is not empty; null when there is more in its chunk. */
function toOnlyField({ error, choices = [], usage }: Chunk): OnlyField | null {
  const [choice] = choices
  if (error !== undefined || usage || !choice?.delta || choice.finish_reason !== null) return null
  const { delta } = choice
  const [name, ...others] = Object.keys(delta).filter((each) => (delta[each] ?? '') !== '')
  return name === undefined || others.length > 0 ? null : { delta, name, value: delta[name] }
}

function joinValues({ name, value: one }: OnlyField, { value: two }: OnlyField): unknown {
  if (typeof one === 'string' && typeof two === 'string') {
    return texts.includes(name) ? one + two : null
  }
  if (name !== 'tool_calls') return null
  const [[call, ...more], [next, ...others]] = [one as Fields[], two as Fields[]]
  if (!call || !next || more.length > 0 || others.length > 0 || call.index !== next.index)
    return null
  const [given, added] = [call.function as Fields, next.function as Fields]
  const says = Object.keys(next).filter((name) => (next[name] ?? '') !== '')
  // Whatever else a piece says, such as a signature, would be lost.
  const isRest = says.every((name) => ['index', 'type', 'function'].includes(name))
  if (!isRest || added.name !== null || given.arguments === null) return null
  const all = `${given.arguments}${added.arguments ?? ''}`
  return [{ ...call, function: { ...given, arguments: all } }]
}

/** The error of a stream, with the message where the package looks for it. */
const toError = (error: unknown): Fields =>
  isObject(error)
    ? { ...error, message: toText(error.message) ?? JSON.stringify(error) }
    : { message: toText(error) ?? JSON.stringify(error) }

/** Returns the first choice: only one was asked for. */
function toChoices(choices: unknown): { delta: Fields | null; finish_reason: string | null }[] {
  const choice: unknown = Array.isArray(choices) ? choices[0] : null
  if (!isObject(choice)) return []
  const delta = isObject(choice.delta) ? choice.delta : choice.message
  return [
    {
      delta: isObject(delta) ? toDelta(delta) : null,
      finish_reason: toText(choice.finish_reason) || null,
    },
  ]
}

/** Keeps other fields: some of them are thoughts, which `readThoughts` finds by their names. */
function toDelta({ role: _role, ...delta }: Fields): Fields {
  const { content, tool_calls: calls } = delta
  const isContent = Array.isArray(content) ? content.every(isObject) : typeof content === 'string'
  return {
    ...delta,
    content: isContent ? content : null,
    refusal: toText(delta.refusal),
    reasoning: toText(delta.reasoning),
    reasoning_content: toText(delta.reasoning_content),
    tool_calls: Array.isArray(calls) ? calls.filter(isObject).map(toCallDelta) : null,
  }
}

function toCallDelta(call: Fields, at: number): Fields {
  const called = isObject(call.function) ? call.function : {}
  return {
    ...call,
    index: toCount(call.index) ?? at,
    id: toText(call.id) || null,
    // The package starts the call with the first name that it sees.
    function: { name: toText(called.name) || null, arguments: toArguments(called.arguments) },
  }
}

/** Returns usage with numbers only; null where nothing is counted. */
function toUsage(usage: unknown): Fields | null {
  if (!isObject(usage)) return null
  const counts = pickCounts(usage)
  const details = ['prompt_tokens_details', 'completion_tokens_details'].flatMap((name) =>
    isObject(usage[name]) ? [[name, pickCounts(usage[name])]] : [],
  )
  const all = { ...counts, ...Object.fromEntries(details) }
  return Object.keys(counts).length > 0 ? all : null
}

const pickCounts = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      const count = toCount(value)
      return count === null ? [] : [[name, count]]
    }),
  )
