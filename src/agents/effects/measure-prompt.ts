import type { PromptSize } from '../contract/runs'
import type { Message } from '../loop/message'
import type { ModelRequest } from '../models/model-port'
import type { Prompt } from './price-call'

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
  { images: sent, ...prompt }: Prompt & Pick<ModelRequest, 'images'>,
  tokens: number,
  before: string[] | null,
): MeasuredPrompt {
  const parts = listParts(prompt)
  const images = sent?.size ?? 0
  const input = {
    messages: prompt.messages.length,
    chars: countPartChars(parts),
    tokens,
    prefixShare: before && measurePrefix(before, parts),
    ...(images > 0 && { images }),
  }
  return { input, parts }
}

/** Returns the share of `before` that `after` starts with, character by character: 0 to 1. */
function measurePrefix(before: string[], after: string[]): number {
  const size = countPartChars(before)
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

function countPartChars(parts: string[]): number {
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

/** Cache of the hashes of tools. */
const hashed = new WeakMap<object, { name: string; description: string; hash: number }>()

/** Returns a hash of names, descriptions and schemas of tools: another one means that a tool has changed. */
export function hashTools(tools: Prompt['tools']): string {
  let hash = fnvOffset
  for (const tool of tools) hash = mix(hash, hashTool(tool))
  return hash.toString(36)
}

function hashTool(tool: Prompt['tools'][number]): number {
  const { name, description, inputSchema } = tool
  const known = hashed.get(inputSchema)
  if (known?.name === name && known.description === description) return known.hash
  let hash = fnvOffset
  const text = describeTool(tool)
  for (let at = 0; at < text.length; at++) hash = mix(hash, text.charCodeAt(at))
  hashed.set(inputSchema, { name, description, hash })
  return hash
}

/** FNV-1a, over units of any size. */
const fnvOffset = 0x811c9dc5
const mix = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193) >>> 0

function describeTool({ name, description, inputSchema }: Prompt['tools'][number]): string {
  let schema = described.get(inputSchema)
  if (schema === undefined) {
    schema = JSON.stringify(inputSchema)
    described.set(inputSchema, schema)
  }
  return `${name}\n${description}\n${schema}`
}
