import { countAllChars, toTokens } from '../loop/estimate'
import type { Message } from '../loop/message'

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
  let chars = countAllChars(messages)
  for (const tool of tools) {
    chars += tool.name.length + tool.description.length + countSchema(tool.inputSchema)
  }
  return toTokens(chars)
}
