import type { PromptSize } from '../contract/agents'
import type { Message } from '../loop/message'
import type { ModelRequest } from '../models/model-port'

/** The prompt of a model call, in the order a provider reads it: tools, then messages. */
export type Prompt = Pick<ModelRequest, 'messages' | 'tools'>

/** The size of a prompt, and the texts it consists of. */
interface MeasuredPrompt {
  input: PromptSize
  parts: string[]
}

/**
 * Measures a prompt for the trace.
 *
 * @param before the parts of the previous prompt, if this machine made it
 * @param tokens estimated size, tools included
 */
export function measurePrompt(
  prompt: Prompt,
  tokens: number,
  before: string[] | null,
): MeasuredPrompt {
  const parts = listParts(prompt)
  const input = {
    messages: prompt.messages.length,
    chars: countChars(parts),
    tokens,
    prefixShare: before && measurePrefix(before, parts),
  }
  return { input, parts }
}

/** Returns the share of `before` that `after` starts with, character by character: 0 to 1. */
function measurePrefix(before: string[], after: string[]): number {
  const size = countChars(before)
  if (size === 0) return 1
  let same = 0
  for (const [index, part] of before.entries()) {
    const other = after[index] ?? ''
    if (part !== other) {
      same += countCommonPrefix(part, other)
      break
    }
    same += part.length
  }
  return Math.floor((same / size) * 10_000) / 10_000
}

function countCommonPrefix(one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  let same = 0
  while (same < most && one[same] === other[same]) same++
  return same
}

function countChars(parts: string[]): number {
  let chars = 0
  for (const part of parts) chars += part.length
  return chars
}

/**
 * Returns everything that is sent to a provider, in order; roles and names are part of the text.
 */
function listParts({ messages, tools }: Prompt): string[] {
  const parts = tools.map(describeTool)
  for (const message of messages) {
    parts.push(message.role)
    if (message.role === 'tool') {
      for (const { callId, name, text } of message.results) parts.push(callId, name, text)
    } else {
      parts.push(message.text)
      if (message.role === 'assistant') addCalls(parts, message)
    }
  }
  return parts
}

function addCalls(parts: string[], message: Extract<Message, { role: 'assistant' }>): void {
  for (const { callId, name, arguments: args } of message.calls) parts.push(callId, name, args)
  if (message.providerParts) parts.push(message.providerParts)
}

/** Cache of tool descriptions: serializing their schemas for every step would be slow. */
const described = new WeakMap<object, string>()

function describeTool({ name, description, inputSchema }: Prompt['tools'][number]): string {
  let schema = described.get(inputSchema)
  if (schema === undefined) {
    schema = JSON.stringify(inputSchema)
    described.set(inputSchema, schema)
  }
  return `${name}\n${description}\n${schema}`
}
