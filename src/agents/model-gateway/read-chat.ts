import { type AnswerFacts, noFacts, type Usage } from './answer-facts'
import {
  describeError,
  isObject,
  type JsonObject,
  readCount,
  readField,
  readList,
  readPart,
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

export function readChatEvent(facts: AnswerFacts, event: JsonObject): AnswerFacts {
  if (event.error !== undefined && event.error !== null)
    return { ...facts, finish: 'error', problem: describeError(event.error) }
  const choice = readList(event, 'choices')[0]
  return {
    ...facts,
    finish: toFinish(readField(choice, 'finish_reason')) ?? facts.finish,
    usage: isObject(event.usage) ? toUsage(event.usage) : facts.usage,
  }
}

export const readChatAnswer = (answer: JsonObject): AnswerFacts => readChatEvent(noFacts, answer)
