import type { AnswerFacts, Usage } from './answer-facts'
import {
  describeError,
  isObject,
  type JsonObject,
  readCount,
  readField,
  readList,
} from './json-fields'

const finishes: Record<string, AnswerFacts['finish']> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  length: 'length',
  content_filter: 'content-filter',
  error: 'error',
}

const toFinish = (reason: unknown): AnswerFacts['finish'] =>
  typeof reason === 'string' ? (finishes[reason] ?? 'unknown') : null

/** Some servers name cached tokens differently. */
function toUsage(usage: unknown): Usage | null {
  const input = readCount(readField(usage, 'prompt_tokens'))
  const output = readCount(readField(usage, 'completion_tokens'))
  if (!input || output === null) return null
  const details = readField(usage, 'prompt_tokens_details')
  const hits = readField(details, 'cached_tokens') ?? readField(usage, 'prompt_cache_hit_tokens')
  const thoughts = readField(readField(usage, 'completion_tokens_details'), 'reasoning_tokens')
  return {
    inputTokens: input,
    cachedTokens: readCount(hits) ?? 0,
    cacheWriteTokens: readCount(readField(details, 'cache_write_tokens')) ?? 0,
    outputTokens: output,
    reasoningTokens: readCount(thoughts) ?? 0,
  }
}

const textFields = ['content', 'reasoning_content', 'reasoning', 'refusal']

/** Returns the characters of a message, or of a piece of one. */
function countChars(message: unknown): number {
  let chars = 0
  for (const name of textFields) {
    const field = readField(message, name)
    if (typeof field === 'string') chars += field.length
  }
  for (const call of readList(message, 'tool_calls')) {
    const text = readField(readField(call, 'function'), 'arguments')
    if (typeof text === 'string') chars += text.length
  }
  return chars
}

function readPiece(facts: AnswerFacts, event: JsonObject, piece: 'delta' | 'message'): AnswerFacts {
  if (event.error !== undefined && event.error !== null)
    return { ...facts, finish: 'error', problem: describeError(event.error) }
  const choice = readList(event, 'choices')[0]
  return {
    ...facts,
    finish: toFinish(readField(choice, 'finish_reason')) ?? facts.finish,
    usage: isObject(event.usage) ? toUsage(event.usage) : facts.usage,
    chars: facts.chars + countChars(readField(choice, piece)),
  }
}

export const readChatEvent = (facts: AnswerFacts, event: JsonObject): AnswerFacts =>
  readPiece(facts, event, 'delta')

export const readChatAnswer = (answer: JsonObject): AnswerFacts =>
  readPiece(
    { finish: null, usage: null, chars: 0, hasEvents: true, problem: null },
    answer,
    'message',
  )
