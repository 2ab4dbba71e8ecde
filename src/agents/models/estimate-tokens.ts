import { countTotalChars, estimateTokensOfChars } from '../loop/estimate'
import type { Message } from '../loop/message'

const schemaChars = new WeakMap<object, number>()

/** Returns a schema's length as JSON, cached by the schema object, which lives as long as its tool. */
function countSchema(schema: object): number {
  const cached = schemaChars.get(schema)
  if (cached !== undefined) return cached
  const chars = JSON.stringify(schema).length
  schemaChars.set(schema, chars)
  return chars
}

/**
 * Estimates a prompt's tokens when no provider has counted them: 1 per 4 characters, with 16
 * characters added per message.
 */
export function estimateTokens(
  messages: Message[],
  tools: { name: string; description: string; inputSchema: object }[],
): number {
  let chars = countTotalChars(messages)
  for (const tool of tools) {
    chars += tool.name.length + tool.description.length + countSchema(tool.inputSchema)
  }
  return estimateTokensOfChars(chars)
}
