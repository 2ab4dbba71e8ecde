import type { TraceInput } from '../contract'
import type { Message } from '../loop/message'
import type { ModelRequest } from '../models/model-port'

/** What a model call is shown, in the order a provider reads it: tools, then messages. */
export type Prompt = Pick<ModelRequest, 'messages' | 'tools'>

/** A prompt in numbers, and as the texts it consists of. */
interface MeasuredPrompt {
  input: TraceInput
  parts: string[]
}

/**
 * A prompt in numbers, for the trace (L43).
 *
 * @param before the parts of the prompt of the step before, if this machine made it
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

/** The share of `before` that `after` begins with, character by character: 0 to 1 (L14). */
function measurePrefix(before: string[], after: string[]): number {
  const size = countChars(before)
  if (size === 0) return 1
  let same = 0
  for (const [index, part] of before.entries()) {
    const other = after[index] ?? ''
    if (part !== other) {
      same += countSameBeginning(part, other)
      break
    }
    same += part.length
  }
  return Math.floor((same / size) * 10_000) / 10_000
}

function countSameBeginning(one: string, other: string): number {
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

/** Everything a provider is sent, in its order; roles and names are part of the text. */
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

/** Descriptions of tools are made once; writing their schemas anew for every step would be dear. */
const described = new WeakMap<object, string>()

function describeTool({ name, description, inputSchema }: Prompt['tools'][number]): string {
  let schema = described.get(inputSchema)
  if (schema === undefined) {
    schema = JSON.stringify(inputSchema)
    described.set(inputSchema, schema)
  }
  return `${name}\n${description}\n${schema}`
}
