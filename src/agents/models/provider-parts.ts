import type {
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { ToolRequest } from '../loop/message'

type AssistantPart =
  | LanguageModelV4TextPart
  | LanguageModelV4ReasoningPart
  | LanguageModelV4ToolCallPart

/**
 * The order in which an answer's parts came and what the provider wants back with them (reasoning
 * signatures, item ids). Text and calls themselves are in the message; calls are found by position,
 * because their ids may have been changed to be unique.
 */
export type ProviderPart =
  | { kind: 'reasoning'; text: string; metadata?: SharedV4ProviderMetadata }
  | { kind: 'text'; chars: number; metadata?: SharedV4ProviderMetadata }
  | { kind: 'call'; metadata?: SharedV4ProviderMetadata }

interface Stored {
  /** Id of the model that wrote them: another one may not be able to read them. */
  author: string
  parts: ProviderPart[]
}

/** JSON to keep beside an answer, or undefined when the provider wants nothing back. */
export function writeProviderParts(author: string, parts: ProviderPart[]): string | undefined {
  const isPlain = parts.every((part) => part.kind !== 'reasoning' && part.metadata === undefined)
  return isPlain ? undefined : JSON.stringify({ author, parts } satisfies Stored)
}

/** None when another model wrote them, or when they cannot be read. */
function readProviderParts(author: string, json: string | undefined): ProviderPart[] {
  if (json === undefined) return []
  try {
    const stored = JSON.parse(json) as Stored
    return stored.author === author && Array.isArray(stored.parts) ? stored.parts : []
  } catch {
    return []
  }
}

/** An assistant message's parts as they came, its reasoning included for the model it is from. */
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

const toTextPart = (text: string): LanguageModelV4TextPart | null =>
  text ? { type: 'text', text } : null

/** Providers want an object: arguments that are none go back as the text they were. */
function toCallPart(call: ToolRequest | undefined): LanguageModelV4ToolCallPart | null {
  if (!call) return null
  return {
    type: 'tool-call',
    toolCallId: call.callId,
    toolName: call.name,
    input: parseObject(call.arguments) ?? { malformed: call.arguments },
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
