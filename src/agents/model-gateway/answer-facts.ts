import type { ModelRequestResult } from '../contract/coding-agents'
import type { JsonObject } from './json-fields'

export type Usage = NonNullable<ModelRequestResult['usage']>

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

export const noFacts: AnswerFacts = {
  finish: null,
  usage: null,
  hasEvents: false,
  problem: null,
}
