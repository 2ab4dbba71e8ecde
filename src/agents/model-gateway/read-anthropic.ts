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
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content-filter',
}

const toFinish = (reason: unknown): AnswerFacts['finish'] =>
  typeof reason === 'string' ? (finishes[reason] ?? 'unknown') : null

/** Fields of content, and of its pieces, that are the model's. */
const contentFields = ['text', 'thinking', 'partial_json', 'data']

function countChars(part: unknown): number {
  let chars = 0
  for (const name of contentFields) {
    const field = readField(part, name)
    if (typeof field === 'string') chars += field.length
  }
  const input = readField(part, 'input')
  return isObject(input) ? chars + JSON.stringify(input).length : chars
}

/** Tokens read from the cache, and written to it, are no part of `input_tokens`. */
function toUsage(counts: JsonObject): Usage | null {
  const plain = readCount(counts.input_tokens)
  const output = readCount(counts.output_tokens)
  if (plain === null || output === null) return null
  const cached = readCount(counts.cache_read_input_tokens) ?? 0
  const written = readCount(counts.cache_creation_input_tokens) ?? 0
  return {
    inputTokens: plain + cached + written,
    cachedTokens: cached,
    cacheWriteTokens: written,
    outputTokens: output,
    reasoningTokens: 0,
  }
}

/** Adds counts to those so far. The later ones are totals, and may leave out what has not changed. */
function addCounts(before: JsonObject | undefined, usage: unknown): JsonObject {
  const given = isObject(usage) ? usage : {}
  const known = Object.entries(given).filter(([, value]) => typeof value === 'number')
  return { ...before, ...Object.fromEntries(known) }
}

export function readAnthropicEvent(facts: AnswerFacts, event: JsonObject): AnswerFacts {
  switch (event.type) {
    case 'message_start':
      return { ...facts, counts: addCounts(facts.counts, readField(event.message, 'usage')) }
    case 'content_block_start': {
      // Arguments begin as an empty object, and come in pieces.
      const block = isObject(event.content_block) ? event.content_block : {}
      return { ...facts, chars: facts.chars + countChars({ ...block, input: undefined }) }
    }
    case 'content_block_delta':
      return { ...facts, chars: facts.chars + countChars(event.delta) }
    case 'message_delta': {
      const counts = addCounts(facts.counts, event.usage)
      const finish = toFinish(readField(event.delta, 'stop_reason')) ?? facts.finish
      return { ...facts, counts, finish, usage: finish === null ? null : toUsage(counts) }
    }
    case 'error':
      return { ...facts, finish: 'error', problem: describeError(event.error) }
    default:
      return facts
  }
}

export const readAnthropicAnswer = (answer: JsonObject): AnswerFacts => ({
  finish: toFinish(answer.stop_reason),
  usage: toUsage(isObject(answer.usage) ? answer.usage : {}),
  chars: readList(answer, 'content').reduce((sum: number, part) => sum + countChars(part), 0),
  hasEvents: true,
  problem: answer.type === 'error' ? describeError(answer.error) : null,
})
