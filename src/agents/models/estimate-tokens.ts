import type { Message } from '../loop/message'

const charsPerToken = 4
const charsPerMessage = 16

const messageChars = (message: Message): number => {
  if (message.role === 'tool') {
    return message.results.reduce((sum, { text, name }) => sum + text.length + name.length, 0)
  }
  if (message.role !== 'assistant') return message.text.length
  return message.calls.reduce(
    (sum, call) => sum + call.name.length + call.arguments.length,
    message.text.length + (message.providerParts?.length ?? 0),
  )
}

const schemaChars = new WeakMap<object, number>()

/** Length of a schema as JSON; counted once per schema object, which lives as long as its tool. */
function countSchema(schema: object): number {
  const known = schemaChars.get(schema)
  if (known !== undefined) return known
  const chars = JSON.stringify(schema).length
  schemaChars.set(schema, chars)
  return chars
}

/**
 * Tokens of a prompt before a provider has counted them: 1 per 4 characters and 16 characters a
 * message on top (L18).
 */
export function estimateTokens(
  messages: Message[],
  tools: { name: string; description: string; inputSchema: object }[],
): number {
  let chars = 0
  for (const message of messages) chars += messageChars(message) + charsPerMessage
  for (const tool of tools) {
    chars += tool.name.length + tool.description.length + countSchema(tool.inputSchema)
  }
  return Math.ceil(chars / charsPerToken)
}
