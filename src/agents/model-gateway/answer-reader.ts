import { modelGateway } from '../../shared/config'
import type { ModelProtocol } from '../../shared/runner-protocol'
import { createEventSplitter } from '../models/split-events'
import { type AnswerFacts, noFacts } from './answer-facts'
import { isObject, type JsonObject } from './json-fields'
import { readAnthropicAnswer, readAnthropicEvent } from './read-anthropic'
import { readChatAnswer, readChatEvent } from './read-chat'
import { readResponsesAnswer, readResponsesEvent } from './read-responses'

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
export interface AnswerReader {
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
