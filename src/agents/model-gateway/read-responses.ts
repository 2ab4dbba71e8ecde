import { type AnswerFacts, noFacts, type Usage } from './answer-facts'
import {
  describeError,
  type JsonObject,
  readCount,
  readField,
  readList,
  readPart,
  readText,
} from './json-fields'

const incompleteFinishes: Record<string, AnswerFacts['finish']> = {
  max_output_tokens: 'length',
  content_filter: 'content-filter',
}

function toUsage(usage: unknown): Usage | null {
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

function toFinish(response: unknown, hasCalls: boolean): AnswerFacts['finish'] {
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

export function readResponsesEvent(facts: AnswerFacts, event: JsonObject): AnswerFacts {
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
    finish: toFinish(response, facts.hasCalls === true),
    usage: toUsage(readField(response, 'usage')),
    problem: error ? describeError(error) : null,
  }
}

export const readResponsesAnswer = (answer: JsonObject): AnswerFacts => readEnd(noFacts, answer)
