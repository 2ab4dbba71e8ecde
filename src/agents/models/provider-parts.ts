import type {
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { ToolRequest } from '../loop/message'
import { toWellFormedJson } from './to-sendable'

type AssistantPart =
  | LanguageModelV4TextPart
  | LanguageModelV4ReasoningPart
  | LanguageModelV4ToolCallPart

/**
 * One part of an answer, with the metadata that the provider requires back (reasoning signatures,
 * item ids). Parts keep the order of the answer. Text and calls themselves are in the message; calls
 * are matched by position, because their ids may have been changed to be unique.
 */
export type ProviderPart =
  | { kind: 'reasoning'; text: string; metadata?: SharedV4ProviderMetadata }
  | { kind: 'text'; chars: number; metadata?: SharedV4ProviderMetadata }
  | { kind: 'call'; metadata?: SharedV4ProviderMetadata }

interface Stored {
  /** Id of the model that wrote them. Another model may not accept them. */
  author: string
  parts: ProviderPart[]
}

/** Returns the parts as JSON to store with an answer; undefined when the provider requires nothing back. */
export function serializeProviderParts(author: string, parts: ProviderPart[]): string | undefined {
  const isPlain = parts.every((part) => part.kind !== 'reasoning' && part.metadata === undefined)
  return isPlain ? undefined : JSON.stringify({ author, parts } satisfies Stored)
}

/** Parses stored parts. Returns none when another model wrote them, or when they are malformed. */
function readProviderParts(author: string, json: string | undefined): ProviderPart[] {
  if (json === undefined) return []
  try {
    const stored = JSON.parse(json) as Stored
    return stored.author === author && Array.isArray(stored.parts) ? stored.parts : []
  } catch {
    return []
  }
}

/** Builds an assistant message's parts in their order, with reasoning when `author` wrote it. */
export function buildAssistantParts(
  author: string,
  message: { text: string; calls: ToolRequest[]; providerParts?: string },
): AssistantPart[] {
  const calls = [...message.calls]
  let textAt = 0
  const parts: AssistantPart[] = []
  const add = (part: AssistantPart | null, metadata?: SharedV4ProviderMetadata) => {
    if (part) parts.push(metadata ? { ...part, providerOptions: metadata } : part)
  }
  for (const part of readProviderParts(author, message.providerParts)) {
    if (part.kind === 'reasoning') {
      add({ type: 'reasoning', text: part.text }, part.metadata)
    } else if (part.kind === 'text') {
      add(toTextPart(message.text.slice(textAt, textAt + part.chars)), part.metadata)
      textAt += part.chars
    } else {
      add(toCallPart(calls.shift()), part.metadata)
    }
  }
  add(toTextPart(message.text.slice(textAt)))
  for (const call of calls) add(toCallPart(call))
  return parts
}

/** Providers refuse a text of white space alone. */
const toTextPart = (text: string): LanguageModelV4TextPart | null =>
  text.trim() === '' ? null : { type: 'text', text }

/** Converts a call. Providers require an object, so malformed arguments are wrapped as text. */
function toCallPart(call: ToolRequest | undefined): LanguageModelV4ToolCallPart | null {
  if (!call) return null
  return {
    type: 'tool-call',
    toolCallId: call.callId,
    toolName: call.name,
    // As text within the request they are out of reach of what makes its JSON well-formed.
    input: parseObject(toWellFormedJson(call.arguments)) ?? { malformed: call.arguments },
  }
}

function parseObject(json: string): Record<string, unknown> | null {
  if (json.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
