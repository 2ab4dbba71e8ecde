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

const countBytes = (...texts: string[]): number =>
  texts.reduce((sum, text) => sum + countStoredBytes(text), 0)

const messageTokens = new WeakMap<Message, number>()

/** A message is never changed, and most of a prompt is that of the step before. */
function boundMessage(message: Message): number {
  const known = messageTokens.get(message)
  if (known !== undefined) return known
  const tokens = countMessage(message)
  messageTokens.set(message, tokens)
  return tokens
}

function countMessage(message: Message): number {
  if (message.role === 'tool') {
    return message.results.reduce(
      (sum, { callId, name, text }) => sum + framing.call + countBytes(callId, name, text),
      0,
    )
  }
  if (message.role !== 'assistant') return countBytes(message.text)
  return message.calls.reduce(
    (sum, call) => sum + framing.call + countBytes(call.callId, call.name, call.arguments),
    countBytes(message.text, message.providerParts ?? ''),
  )
}

const toolBytes = new WeakMap<object, number>()

/** Counted once per schema object, which lives as long as its tool. */
function boundTool({ name, description, inputSchema }: ToolText): number {
  const known = toolBytes.get(inputSchema)
  if (known !== undefined) return known
  const bytes = countBytes(name, description, JSON.stringify(inputSchema))
  toolBytes.set(inputSchema, bytes)
  return bytes
}
