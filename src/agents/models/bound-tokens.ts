import type { Message } from '../loop/message'
import { countStoredBytes } from './stored-size'

interface ToolText {
  name: string
  description: string
  inputSchema: object
}

/** Tokens that providers put around what we send: roles, ids and, for tools, instructions. */
const framing = { message: 16, call: 32, tool: 32, tools: 640 }

/**
 * The most tokens that a prompt can be for any tokenizer, for reservations (B4): a token stands for
 * at least one byte. English is a third of it; Chinese, Amharic or random letters come close.
 */
export function boundTokens(messages: Message[], tools: ToolText[]): number {
  let tokens = tools.length > 0 ? framing.tools : 0
  for (const message of messages) tokens += framing.message + boundMessage(message)
  for (const tool of tools) {
    tokens += framing.tool + boundTool(tool)
  }
  return tokens
}

/** Most texts are ASCII, and telling that is quick. */
const isAscii = /^[\t\n\r\x20-\x7e]*$/

const countBytes = (text: string): number =>
  isAscii.test(text) ? text.length : countStoredBytes(text)

function boundMessage(message: Message): number {
  if (message.role === 'tool') {
    let tokens = 0
    for (const { callId, name, text } of message.results) {
      tokens += framing.call + countBytes(callId) + countBytes(name) + countBytes(text)
    }
    return tokens
  }
  let tokens = countBytes(message.text)
  if (message.role !== 'assistant') return tokens
  if (message.providerParts) tokens += countBytes(message.providerParts)
  for (const { callId, name, arguments: json } of message.calls) {
    tokens += framing.call + countBytes(callId) + countBytes(name) + countBytes(json)
  }
  return tokens
}

const toolBytes = new WeakMap<object, number>()

/** Counted once per schema object, which lives as long as its tool. */
function boundTool({ name, description, inputSchema }: ToolText): number {
  const known = toolBytes.get(inputSchema)
  if (known !== undefined) return known
  const bytes = countBytes(name) + countBytes(description) + countBytes(JSON.stringify(inputSchema))
  toolBytes.set(inputSchema, bytes)
  return bytes
}
