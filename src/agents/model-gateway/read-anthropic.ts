import type { AnswerFacts, Usage } from './answer-facts'
import {
  describeError,
  isObject,
  type JsonObject,
  readCount,
  readField,
  readPart,
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

/** Tokens read from the cache, and written to it, are no part of `input_tokens`. */
function toUsage(counts: JsonObject): Usage | null {
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

export function readAnthropicEvent(facts: AnswerFacts, event: JsonObject): AnswerFacts {
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
  hasEvents: true,
  problem: answer.type === 'error' ? describeError(answer.error) : null,
})
