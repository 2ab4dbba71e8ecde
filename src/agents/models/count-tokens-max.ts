import type { Message } from '../loop/message'
import { countStoredBytes } from './stored-size'

interface ToolText {
  name: string
  description: string
  inputSchema: object
}

/** Tokens that providers add around our text: roles, ids and, for tools, instructions. */
const overhead = { message: 16, call: 32, tool: 32, tools: 640 }

/**
 * Returns an upper bound of a prompt's tokens for any tokenizer: no reservation and no charge is higher.
 * A token stands for at least one byte. English needs a third of the bound; Chinese, Amharic or random
 * letters come close to it.
 */
export function countTokensMax(messages: Message[], tools: ToolText[]): number {
  let tokens = tools.length > 0 ? overhead.tools : 0
  for (const message of messages) tokens += overhead.message + countMessageMax(message)
  for (const tool of tools) {
    tokens += overhead.tool + countToolMax(tool)
  }
  return tokens
}

/** Matches printable ASCII, the common case, which is fast to test. */
const isAscii = /^[\t\n\r\x20-\x7e]*$/

const countBytes = (text: string): number =>
  isAscii.test(text) ? text.length : countStoredBytes(text)

function countMessageMax(message: Message): number {
  if (message.role === 'tool') {
    let tokens = 0
    for (const { callId, name, text } of message.results) {
      tokens += overhead.call + countBytes(callId) + countBytes(name) + countBytes(text)
    }
    return tokens
  }
  let tokens = countBytes(message.text)
  if (message.role !== 'assistant') return tokens
  if (message.providerParts) tokens += countBytes(message.providerParts)
  for (const { callId, name, arguments: json } of message.calls) {
    tokens += overhead.call + countBytes(callId) + countBytes(name) + countBytes(json)
  }
  return tokens
}

const toolBytes = new WeakMap<object, number>()

/** Returns the bytes of a tool, cached by its schema object, which lives as long as the tool. */
function countToolMax({ name, description, inputSchema }: ToolText): number {
  const cached = toolBytes.get(inputSchema)
  if (cached !== undefined) return cached
  const bytes = countBytes(name) + countBytes(description) + countBytes(JSON.stringify(inputSchema))
  toolBytes.set(inputSchema, bytes)
  return bytes
}

/**
 * Returns the bytes of a prompt beyond one per character: about two for each token of Chinese, and none
 * for ASCII. The estimate counts characters alone, which is far too low for such text.
 */
export function countWideBytes(messages: Message[], tools: ToolText[]): number {
  let bytes = 0
  for (const message of messages) {
    for (const text of listTexts(message)) bytes += countWide(text)
  }
  for (const { description } of tools) bytes += countWide(description)
  return bytes
}

const countWide = (text: string): number => countBytes(text) - text.length

function listTexts(message: Message): string[] {
  if (message.role === 'tool') return message.results.map(({ text }) => text)
  if (message.role !== 'assistant') return [message.text]
  return [message.text, ...message.calls.map(({ arguments: json }) => json)]
}
